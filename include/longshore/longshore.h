/* Longshore's C interface: load a model or a bundle, run it.
 *
 *     longshore_model* model;
 *     char why[256];
 *     if (longshore_model_load("model.onnx", &model, why, sizeof why) != LONGSHORE_OK) ...
 *     longshore_context* context;
 *     longshore_context_create(model, 1, &context, why, sizeof why);
 *     longshore_tensor x = {LONGSHORE_F32, 4, {1, 3, 224, 224}, pixels};
 *     longshore_run(context, &x, 1, why, sizeof why);
 *     longshore_tensor y;
 *     longshore_output(context, 0, &y);
 *
 * A model is immutable and may be shared by threads; each thread has a context of its own. Weights,
 * and what was made of them, exist once per model, whatever the number of contexts and of input
 * dims. Nothing here throws, prints or exits. */
#ifndef LONGSHORE_H
#define LONGSHORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum longshore_code {
  LONGSHORE_OK = 0,
  LONGSHORE_BAD_MODEL = 1,    /* a file breaks its format's rules */
  LONGSHORE_BAD_ARGUMENT = 2, /* an input or call does not fit the model */
  LONGSHORE_UNSUPPORTED = 3,  /* well formed, but there is no way to do it */
  LONGSHORE_ARITHMETIC = 4,   /* an integer division by zero or the like */
  LONGSHORE_EXHAUSTED = 5,    /* a memory or size limit is reached */
  LONGSHORE_IO = 6,           /* a file cannot be read */
  LONGSHORE_INTERNAL = 7      /* Longshore is at fault */
} longshore_code;

/* Element types; the numbers are ONNX's TensorProto.DataType. */
typedef enum longshore_dtype {
  LONGSHORE_F32 = 1,
  LONGSHORE_U8 = 2,
  LONGSHORE_I8 = 3,
  LONGSHORE_U16 = 4,
  LONGSHORE_I16 = 5,
  LONGSHORE_I32 = 6,
  LONGSHORE_I64 = 7,
  LONGSHORE_BOOL = 9,
  LONGSHORE_F16 = 10,
  LONGSHORE_F64 = 11,
  LONGSHORE_U32 = 12,
  LONGSHORE_U64 = 13,
  LONGSHORE_BF16 = 16
} longshore_dtype;

#define LONGSHORE_MAX_RANK 8

/* A dense row-major tensor. A dimension that is not known before a run is -1. */
typedef struct longshore_tensor {
  int32_t dtype;
  int32_t rank;
  int64_t dims[LONGSHORE_MAX_RANK];
  const void* data;
} longshore_tensor;

typedef struct longshore_model longshore_model;
typedef struct longshore_context longshore_context;

/* "0.1.0" */
const char* longshore_version(void);

/* Reads an ONNX file, a graph as text, or a bundle (.lsb), optimises it and binds kernels. After a
 * failure `why` (may be null) holds one sentence. */
longshore_code longshore_model_load(const char* path, longshore_model** model, char* why,
                                    size_t why_size);
void longshore_model_free(longshore_model* model);

size_t longshore_input_count(const longshore_model* model);
size_t longshore_output_count(const longshore_model* model);
/* Names live as long as the model; null where i is too large. */
const char* longshore_input_name(const longshore_model* model, size_t i);
const char* longshore_output_name(const longshore_model* model, size_t i);
/* Type and dims, data null. rank is -1 where even the rank is unknown. */
longshore_code longshore_input_type(const longshore_model* model, size_t i, longshore_tensor* type);
longshore_code longshore_output_type(const longshore_model* model, size_t i,
                                     longshore_tensor* type);

/* threads: 0 shares a pool of as many threads as the process may use with all other contexts (while
 * one context has its helpers, another runs on its caller's thread alone); 1 uses the caller's
 * thread alone; more makes a pool for this context. No thread spins between runs. The context keeps
 * the model alive. */
longshore_code longshore_context_create(const longshore_model* model, int threads,
                                        longshore_context** context, char* why, size_t why_size);
void longshore_context_free(longshore_context* context);

/* Runs once. Dims seen before allocate nothing; a context and its model keep the programs for the
 * 16 dims used last, and threads that ask for new dims at the same time wait for one of them to
 * make the program. An input that is a state may have null data (its other fields are not read): it
 * is then what the last run left, zeros before the first. */
longshore_code longshore_run(longshore_context* context, const longshore_tensor* inputs,
                             size_t input_count, char* why, size_t why_size);
/* A look at output i of the last run, valid until the next run or the end of the inputs' memory. */
longshore_code longshore_output(const longshore_context* context, size_t i,
                                longshore_tensor* output);
/* States are zeros again, as before the first run. */
void longshore_reset(longshore_context* context);
/* Bytes that the context holds. */
uint64_t longshore_context_bytes(const longshore_context* context);

#ifdef __cplusplus
}
#endif

#endif
