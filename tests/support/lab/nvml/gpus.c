/* NVML of whole GPUs. A function that is missing here ends the caller at the call, by its name. */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned users;

static nvmlReturn_t copy_text(const char *text, char *buffer, unsigned length)
{
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(buffer, text);
    return NVML_SUCCESS;
}

static void write_uuid(const struct nvmlDevice_st *device, char *buffer, size_t length)
{
    unsigned instance = 0, part = 0;
    if (device->part) {
        instance = number_of(device->part->owner);
        part = part_number(device->part);
    }
    snprintf(buffer, length, "%s-6d6f636b-%04x-%04x-%04x-6e766d6c0000",
             device->part ? "MIG" : "GPU", device->index, instance, part);
}

/* The bus is the GPU's index plus one, so that GPUs are in the same order by bus and by index. */
static void write_bus_id(const struct nvmlDevice_st *device, char *buffer, size_t length)
{
    snprintf(buffer, length, "00000000:%02X:00.0", device->index + 1);
}

nvmlReturn_t nvmlInit_v2(void)
{
    if (users++ == 0)
        read_node();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
    if (users == 0)
        return NVML_ERROR_UNINITIALIZED;
    users--;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_RESOURCES: return "Insufficient Resources";
    case NVML_ERROR_IN_USE: return "In use by another client";
    default: return "Unknown Error";
    }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    return copy_text(node.driver, version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    char text[2 * TEXT];
    snprintf(text, sizeof text, "%u.%s", node.cuda_major, node.driver);
    return copy_text(text, version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = (int)(node.cuda_major * 1000 + node.cuda_minor * 10);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = node.gpu_count;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    if (index >= node.gpu_count)
        return NVML_ERROR_INVALID_ARGUMENT;
    device->handle = &node.gpus[index];
    return NVML_SUCCESS;
}

static int is_named(const struct nvmlDevice_st *device, const char *wanted)
{
    char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    write_uuid(device, uuid, sizeof uuid);
    return strcmp(uuid, wanted) == 0;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *wanted, nvmlDevice_t *device)
{
    for (unsigned gpu = 0; gpu < node.gpu_count; gpu++) {
        if (is_named(&node.gpus[gpu], wanted)) {
            device->handle = &node.gpus[gpu];
            return NVML_SUCCESS;
        }
        for (unsigned i = 0; i < MAX_INSTANCES * MAX_INSTANCES; i++) {
            struct nvmlDevice_st *mig = &node.mig_devices[gpu][i];
            if (mig->part->slices && is_named(mig, wanted)) {
                device->handle = mig;
                return NVML_SUCCESS;
            }
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

/* Domains are written with four digits by the kernel and with eight by NVML. */
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *wanted, nvmlDevice_t *device)
{
    unsigned domain, bus, slot, function;
    if (sscanf(wanted, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (domain || slot || function || bus == 0 || bus > node.gpu_count)
        return NVML_ERROR_NOT_FOUND;
    device->handle = &node.gpus[bus - 1];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    return copy_text(node.product, name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    write_uuid(device.handle, text, sizeof text);
    return copy_text(text, uuid, length);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor)
{
    if (device.handle->part)
        return NVML_ERROR_INVALID_ARGUMENT;
    *minor = device.handle->index;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    const struct nvmlComputeInstance_st *part = device.handle->part;
    unsigned long long mib = part ? part->owner->profile->memory_mib : node.memory_mib;
    if (mib == 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *memory = (nvmlMemory_t){.total = mib << 20, .free = mib << 20};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    const struct nvmlDevice_st *gpu = device.handle;
    memset(pci, 0, sizeof *pci);
    pci->bus = gpu->index + 1;
    pci->pciDeviceId = node.pci_device << 16 | 0x10de;
    write_bus_id(gpu, pci->busId, sizeof pci->busId);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", gpu->index + 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    *major = (int)node.capability_major;
    *minor = (int)node.capability_minor;
    return NVML_SUCCESS;
}

/* A GPU in an NVLink domain of several nodes; the clique's number is 1 in all of them. On a board
 * with switches of its own ("-") the fabric is complete too, but has no name and the number 0.
 * Source: NVIDIA/k8s-test-infra, qx-h100.xml and qx-b200.xml of captured nodes (qx-a100.xml: not told).
 */
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    if (node.fabric[0] == '\0' || device.handle->part)
        return NVML_ERROR_NOT_SUPPORTED;
    memset(info, 0, sizeof *info);
    if (strcmp(node.fabric, "-") != 0) {
        memcpy(info->clusterUuid, node.fabric, strnlen(node.fabric, sizeof info->clusterUuid));
        info->cliqueId = 1;
    }
    info->state = NVML_GPU_FABRIC_STATE_COMPLETED;
    info->status = NVML_SUCCESS;
    return NVML_SUCCESS;
}

/* Health is not played: the plugin says so and goes on without. */
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    return NVML_ERROR_NOT_SUPPORTED;
}
