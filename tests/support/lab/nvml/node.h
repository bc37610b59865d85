/* One node with GPUs of one model, as the mock of NVML plays it.
 *
 * What the GPUs are is in a text file (MOCK_NVML_NODE); their MIG instances are in another
 * (MOCK_NVML_STATE), which every change rewrites, so that the next process sees it. Both are made
 * by tests/support/lab. Only what a test names is played: no function guesses.
 */
#ifndef MOCK_NVML_NODE_H
#define MOCK_NVML_NODE_H

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

enum { MAX_GPUS = 16, MAX_PROFILES = 24, MAX_STARTS = 16, MAX_INSTANCES = 8, TEXT = 96 };
enum { COPY, DECODER, ENCODER, JPEG, OFA, ENGINES };

/* A GPU-instance profile. index is NVML_GPU_INSTANCE_PROFILE_*, id the one nvidia-smi prints. */
struct profile {
    char name[TEXT];
    unsigned index, id, slices, size, most, memory_mib, multiprocessors;
    unsigned engines[ENGINES];
    unsigned starts[MAX_STARTS], start_count;
    unsigned parts[MAX_INSTANCES], part_count; /* slices that a compute instance in it may have */
};

/* A compute instance; slices 0: none here. Its number is its place in the GPU instance. */
struct nvmlComputeInstance_st {
    struct nvmlGpuInstance_st *owner;
    unsigned slices;
};

/* A GPU instance; profile NULL: none here. Its number is its place on the GPU. */
struct nvmlGpuInstance_st {
    struct nvmlDevice_st *gpu;
    const struct profile *profile;
    unsigned start;
    struct nvmlComputeInstance_st parts[MAX_INSTANCES];
};

/* A GPU, or a MIG device on one: then part points to its compute instance. */
struct nvmlDevice_st {
    unsigned index;
    unsigned mode, pending_mode;
    struct nvmlGpuInstance_st instances[MAX_INSTANCES];
    struct nvmlDevice_st *parent;
    struct nvmlComputeInstance_st *part;
};

struct node {
    char product[TEXT], driver[TEXT], fabric[TEXT];
    unsigned cuda_major, cuda_minor, capability_major, capability_minor, pci_device;
    unsigned memory_mib; /* 0: NVML says that the GPU does not tell */
    unsigned gpu_count;
    unsigned slices;           /* compute slices; 0: no MIG */
    unsigned needs_reset;      /* 1: a change of the MIG mode waits for a reset of the GPU */
    unsigned budget[ENGINES];  /* what the instances of a GPU may have together */
    struct profile profiles[MAX_PROFILES];
    unsigned profile_count;
    struct nvmlDevice_st gpus[MAX_GPUS];
    struct nvmlDevice_st mig_devices[MAX_GPUS][MAX_INSTANCES * MAX_INSTANCES];
};

extern struct node node;

void read_node(void);
void write_state(void);
unsigned number_of(const struct nvmlGpuInstance_st *instance);
unsigned part_number(const struct nvmlComputeInstance_st *part);
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
