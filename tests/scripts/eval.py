#!/usr/bin/env python3
"""eval on the zoo: the fields of its JSON, that threads change nothing, that int8 stays near float and int16 nearer, bad input."""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli

MODEL = cli.ROOT / "zoo/resnet8_fashion.onnx"
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz")
check = cli.Checks()


def evaluate(*arguments):
    done = cli.run("eval", MODEL, "--data", "fashion-mnist", "--json", *arguments)
    if not check.that(done.returncode == 0, f"eval {arguments}", done.stderr[-500:]):
        return {}
    return json.loads(done.stdout.splitlines()[-1])


if DATA.exists():
    real = evaluate("--limit", 200)
    check.that(real.get("samples") == 200 and real.get("metric") == "top1_percent", "fields", real)
    check.that(real.get("value", 0) > 85, "float is right in more than 85 % of 200 pictures", real)
    int8 = [evaluate("--limit", 200, "--precision", "int8", "--calibrate-limit", 64, "--compare-float", "--threads", t) for t in (1, 2)]
    check.that(int8[0] == int8[1], "one thread and two give the same", int8)
    check.that(int8[0].get("label_agreement_percent", 0) >= 97, "int8 gives float's label in at least 97 %", int8[0])
    check.that(int8[0].get("output_sqnr_db", 0) > 25, "outputs' SQNR above 25 dB", int8[0])
    for zoo in ("resnet8_fashion", "mobilenetv2_fashion"):
        limits = "--limit", 40, "--calibrate-limit", 40, "--compare-float"
        narrow, wide, widest = (json.loads(cli.run("eval", cli.ROOT / f"zoo/{zoo}.onnx", "--data", "fashion-mnist", "--json", *limits, "--precision", p).stdout)
                        for p in ("int8", "int16", "int16x16"))
        check.that(widest["precision"] == "int16x16" and widest["output_sqnr_db"] > wide["output_sqnr_db"] + 10, f"{zoo}: int16x16 is nearest",
                   f"{wide['output_sqnr_db']} dB and {widest['output_sqnr_db']} dB")
        check.that(wide["precision"] == "int16" and wide["output_sqnr_db"] > narrow["output_sqnr_db"] + 1, f"{zoo}: int16 is nearer to float",
                   f"{narrow['output_sqnr_db']} dB and {wide['output_sqnr_db']} dB")
else:
    print("SKIP what needs fashion-mnist: the data set is not there (Debian package dataset-fashion-mnist)")

with tempfile.TemporaryDirectory() as folder:
    records = pathlib.Path(folder) / "records.bin"
    records.write_bytes(bytes(3073 * 2))
    short = pathlib.Path(folder) / "short.bin"
    short.write_bytes(bytes(3072))
    for arguments, words in ((["--data", "nowhere"], "fashion-mnist"), (["--data", f"cifar10:{records}"], "3x32x32"),
                             (["--data", f"cifar10:{short}"], "3073"), (["--data", "cifar10:/nowhere"], "/nowhere"),
                             (["--data", folder], "one for each class"),
                             (["--data", f"cifar10:{records}", "--precision", "int8"], "--calibrate")):
        done = cli.run("eval", MODEL, *arguments)
        check.that(done.returncode == 2 and words in done.stderr, f"eval {arguments} names what is wrong",
                   f"{done.returncode}: {done.stderr}")
    done = cli.run("build", MODEL, "--target", "cpu", "--calibrate", folder + "/empty", "-o", folder + "/x.lsb")
    check.that(done.returncode == 2, "build with a calibration folder that is not there", done.stderr)

sys.exit(check.finish())
