/* NVML of MIG: modes, GPU instances by NVIDIA's placements, compute instances, MIG devices. */
#include "node.h"

#include <string.h>

static int is_capable(nvmlDevice_t device)
{
    return node.slices && device.handle->part == NULL;
}

static int is_enabled(nvmlDevice_t device)
{
    return is_capable(device) && device.handle->mode == NVML_DEVICE_MIG_ENABLE;
}

static const struct profile *profile_with_id(unsigned id)
{
    for (unsigned i = 0; i < node.profile_count; i++)
        if (node.profiles[i].id == id)
            return &node.profiles[i];
    return NULL;
}

/* ---- mode ---- */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    if (!is_capable(device))
        return NVML_ERROR_NOT_SUPPORTED;
    *current = device.handle->mode;
    *pending = device.handle->pending_mode;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned mode, nvmlReturn_t *activation)
{
    if (!is_capable(device))
        return NVML_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < MAX_INSTANCES; i++)
        if (device.handle->instances[i].profile)
            return NVML_ERROR_IN_USE;
    device.handle->pending_mode = mode;
    if (!node.needs_reset)
        device.handle->mode = mode;
    *activation = NVML_SUCCESS;
    write_state();
    return NVML_SUCCESS;
}

/* ---- GPU instances ---- */

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned index,
                                                 nvmlGpuInstanceProfileInfo_t *info)
{
    if (!is_capable(device))
        return NVML_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < node.profile_count; i++) {
        const struct profile *profile = &node.profiles[i];
        if (profile->index != index)
            continue;
        *info = (nvmlGpuInstanceProfileInfo_t){
            .id = profile->id,
            .sliceCount = profile->slices,
            .instanceCount = profile->most,
            .multiprocessorCount = profile->multiprocessors,
            .copyEngineCount = profile->engines[COPY],
            .decoderCount = profile->engines[DECODER],
            .encoderCount = profile->engines[ENCODER],
            .jpegCount = profile->engines[JPEG],
            .ofaCount = profile->engines[OFA],
            .memorySizeMB = profile->memory_mib,
        };
        return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

static int is_free(const struct nvmlDevice_st *gpu, const struct profile *wanted, unsigned start)
{
    for (unsigned i = 0; i < MAX_INSTANCES; i++) {
        const struct nvmlGpuInstance_st *other = &gpu->instances[i];
        if (other->profile == NULL)
            continue;
        if (start < other->start + other->profile->size && other->start < start + wanted->size)
            return 0;
    }
    return 1;
}

/* What a GPU has once is not handed out twice: compute slices, engines, instances of a profile. */
static int has_left(const struct nvmlDevice_st *gpu, const struct profile *wanted)
{
    unsigned alike = 1, slices = wanted->slices, engines[ENGINES];
    memcpy(engines, wanted->engines, sizeof engines);
    for (unsigned i = 0; i < MAX_INSTANCES; i++) {
        const struct profile *other = gpu->instances[i].profile;
        if (other == NULL)
            continue;
        alike += other == wanted;
        slices += other->slices;
        for (int engine = 0; engine < ENGINES; engine++)
            engines[engine] += other->engines[engine];
    }
    for (int engine = 0; engine < ENGINES; engine++)
        if (engines[engine] > node.budget[engine])
            return 0;
    return alike <= wanted->most && slices <= node.slices;
}

/* The driver picks the place, from high starts down; nobody can ask for one here. */
nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t device, unsigned id,
                                         nvmlGpuInstance_t *instance)
{
    const struct profile *wanted = profile_with_id(id);
    if (!is_enabled(device) || wanted == NULL)
        return NVML_ERROR_NOT_SUPPORTED;
    struct nvmlGpuInstance_st *slot = device.handle->instances;
    while (slot->profile)
        if (++slot == device.handle->instances + MAX_INSTANCES)
            return NVML_ERROR_INSUFFICIENT_RESOURCES;
    if (!has_left(device.handle, wanted))
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    for (unsigned i = wanted->start_count; i-- > 0;) {
        if (!is_free(device.handle, wanted, wanted->starts[i]))
            continue;
        slot->profile = wanted;
        slot->start = wanted->starts[i];
        instance->handle = slot;
        write_state();
        return NVML_SUCCESS;
    }
    return NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance)
{
    for (unsigned i = 0; i < MAX_INSTANCES; i++)
        if (instance.handle->parts[i].slices)
            return NVML_ERROR_IN_USE;
    instance.handle->profile = NULL;
    write_state();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned id,
                                       nvmlGpuInstance_t *instances, unsigned *count)
{
    if (!is_enabled(device))
        return NVML_ERROR_NOT_SUPPORTED;
    *count = 0;
    for (unsigned i = 0; i < MAX_INSTANCES; i++) {
        struct nvmlGpuInstance_st *instance = &device.handle->instances[i];
        if (instance->profile && instance->profile->id == id)
            instances[(*count)++].handle = instance;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned number,
                                          nvmlGpuInstance_t *instance)
{
    if (number >= MAX_INSTANCES || device.handle->instances[number].profile == NULL)
        return NVML_ERROR_NOT_FOUND;
    instance->handle = &device.handle->instances[number];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t *info)
{
    const struct nvmlGpuInstance_st *own = instance.handle;
    *info = (nvmlGpuInstanceInfo_t){
        .device = {own->gpu},
        .id = number_of(own),
        .profileId = own->profile->id,
        .placement = {own->start, own->profile->size},
    };
    return NVML_SUCCESS;
}

/* ---- compute instances; their profile's id is the number of slices ---- */

static unsigned slices_of(unsigned index)
{
    static const unsigned slices[] = {1, 2, 3, 4, 7, 8, 6};
    return index < sizeof slices / sizeof *slices ? slices[index] : 0;
}

static int may_have(const struct profile *profile, unsigned slices)
{
    for (unsigned i = 0; i < profile->part_count; i++)
        if (profile->parts[i] == slices)
            return 1;
    return 0;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t instance,
                                                          unsigned index, unsigned engine,
                                                          nvmlComputeInstanceProfileInfo_t *info)
{
    const struct profile *profile = instance.handle->profile;
    unsigned slices = slices_of(index);
    if (engine != NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED || !may_have(profile, slices))
        return NVML_ERROR_NOT_SUPPORTED;
    *info = (nvmlComputeInstanceProfileInfo_t){
        .id = slices,
        .sliceCount = slices,
        .instanceCount = profile->slices / slices,
        .multiprocessorCount = profile->multiprocessors * slices / profile->slices,
        .sharedCopyEngineCount = profile->engines[COPY],
        .sharedDecoderCount = profile->engines[DECODER],
        .sharedEncoderCount = profile->engines[ENCODER],
        .sharedJpegCount = profile->engines[JPEG],
        .sharedOfaCount = profile->engines[OFA],
    };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance, unsigned slices,
                                                  nvmlComputeInstance_t *compute)
{
    struct nvmlGpuInstance_st *own = instance.handle;
    struct nvmlComputeInstance_st *slot = NULL;
    unsigned used = slices;
    for (unsigned i = 0; i < MAX_INSTANCES; i++) {
        used += own->parts[i].slices;
        if (slot == NULL && own->parts[i].slices == 0)
            slot = &own->parts[i];
    }
    if (!may_have(own->profile, slices))
        return NVML_ERROR_NOT_SUPPORTED;
    if (slot == NULL || used > own->profile->slices)
        return NVML_ERROR_INSUFFICIENT_RESOURCES;
    slot->slices = slices;
    compute->handle = slot;
    write_state();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t compute)
{
    compute.handle->slices = 0;
    write_state();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned slices,
                                                nvmlComputeInstance_t *computes, unsigned *count)
{
    *count = 0;
    for (unsigned i = 0; i < MAX_INSTANCES; i++)
        if (instance.handle->parts[i].slices == slices)
            computes[(*count)++].handle = &instance.handle->parts[i];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t instance, unsigned number,
                                                   nvmlComputeInstance_t *compute)
{
    if (number >= MAX_INSTANCES || instance.handle->parts[number].slices == 0)
        return NVML_ERROR_NOT_FOUND;
    compute->handle = &instance.handle->parts[number];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t compute,
                                           nvmlComputeInstanceInfo_t *info)
{
    struct nvmlComputeInstance_st *own = compute.handle;
    *info = (nvmlComputeInstanceInfo_t){
        .device = {own->owner->gpu},
        .gpuInstance = {own->owner},
        .id = part_number(own),
        .profileId = own->slices,
        .placement = {0, own->slices},
    };
    return NVML_SUCCESS;
}

/* ---- MIG devices: one for each compute instance ---- */

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *count)
{
    *count = is_capable(device) ? node.slices : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t *mig)
{
    if (!is_enabled(device))
        return NVML_ERROR_NOT_FOUND;
    for (unsigned i = 0; i < MAX_INSTANCES * MAX_INSTANCES; i++) {
        struct nvmlDevice_st *candidate = &node.mig_devices[device.handle->index][i];
        if (candidate->part->slices && index-- == 0) {
            mig->handle = candidate;
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *is_mig)
{
    *is_mig = device.handle->part != NULL;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *device)
{
    if (mig.handle->part == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    device->handle = mig.handle->parent;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t mig, unsigned *number)
{
    if (mig.handle->part == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *number = number_of(mig.handle->part->owner);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t mig, unsigned *number)
{
    if (mig.handle->part == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *number = part_number(mig.handle->part);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t mig, nvmlDeviceAttributes_t *attributes)
{
    if (mig.handle->part == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    const struct profile *profile = mig.handle->part->owner->profile;
    unsigned slices = mig.handle->part->slices;
    *attributes = (nvmlDeviceAttributes_t){
        .multiprocessorCount = profile->multiprocessors * slices / profile->slices,
        .sharedCopyEngineCount = profile->engines[COPY],
        .sharedDecoderCount = profile->engines[DECODER],
        .sharedEncoderCount = profile->engines[ENCODER],
        .sharedJpegCount = profile->engines[JPEG],
        .sharedOfaCount = profile->engines[OFA],
        .gpuInstanceSliceCount = profile->slices,
        .computeInstanceSliceCount = slices,
        .memorySizeMB = profile->memory_mib,
    };
    return NVML_SUCCESS;
}
