/* Reads the node and the state of its GPUs, and writes the state. */
#include "node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node node;

/* Ends the process so that no test can take it for a verdict of the program under test. */
void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("mock of NVML: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    _exit(70); /* at once: a Go program would print the stacks of all its routines */
}

unsigned number_of(const struct nvmlGpuInstance_st *instance)
{
    return (unsigned)(instance - instance->gpu->instances);
}

unsigned part_number(const struct nvmlComputeInstance_st *part)
{
    return (unsigned)(part - part->owner->parts);
}

static FILE *open_file(const char *variable, const char *mode)
{
    const char *path = getenv(variable);
    if (path == NULL)
        fail("%s is not set", variable);
    FILE *file = fopen(path, mode);
    if (file == NULL)
        fail("cannot open %s", path);
    return file;
}

/* Reads `1,2,4` into values and returns how many there are. */
static unsigned read_list(char *text, unsigned *values, unsigned most)
{
    unsigned count = 0;
    char *rest = NULL;
    for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        if (count == most)
            fail("more than %u values in a list", most);
        values[count++] = (unsigned)strtoul(item, NULL, 10);
    }
    return count;
}

/* Columns: name index id slices size most memory multiprocessors, the engines, starts, parts. */
static void read_profile(const char *text)
{
    char starts[TEXT], parts[TEXT];
    if (node.profile_count == MAX_PROFILES)
        fail("more than %d profiles", MAX_PROFILES);
    struct profile *p = &node.profiles[node.profile_count++];
    unsigned *engine = p->engines;
    if (sscanf(text, "%95s %u %u %u %u %u %u %u %u %u %u %u %u %95s %95s", p->name, &p->index,
               &p->id, &p->slices, &p->size, &p->most, &p->memory_mib, &p->multiprocessors,
               engine, engine + 1, engine + 2, engine + 3, engine + 4, starts, parts) != 15)
        fail("this profile is not complete: %s", text);
    p->start_count = read_list(starts, p->starts, MAX_STARTS);
    p->part_count = read_list(parts, p->parts, MAX_INSTANCES);
}

static void read_node_line(const char *word, const char *text)
{
    if (strcmp(word, "product") == 0) snprintf(node.product, TEXT, "%s", text);
    else if (strcmp(word, "driver") == 0) snprintf(node.driver, TEXT, "%s", text);
    else if (strcmp(word, "fabric") == 0) snprintf(node.fabric, TEXT, "%s", text);
    else if (strcmp(word, "cuda") == 0)
        sscanf(text, "%u.%u", &node.cuda_major, &node.cuda_minor);
    else if (strcmp(word, "capability") == 0)
        sscanf(text, "%u.%u", &node.capability_major, &node.capability_minor);
    else if (strcmp(word, "pci") == 0) sscanf(text, "%x", &node.pci_device);
    else if (strcmp(word, "memory") == 0) sscanf(text, "%u", &node.memory_mib);
    else if (strcmp(word, "gpus") == 0) sscanf(text, "%u", &node.gpu_count);
    else if (strcmp(word, "mig") == 0) sscanf(text, "%u %u", &node.slices, &node.needs_reset);
    else if (strcmp(word, "budget") == 0)
        sscanf(text, "%u %u %u %u %u", node.budget, node.budget + 1, node.budget + 2,
               node.budget + 3, node.budget + 4);
    else if (strcmp(word, "profile") == 0) read_profile(text);
    else fail("nobody knows %s in the node", word);
}

static const struct profile *profile_named(const char *name)
{
    for (unsigned i = 0; i < node.profile_count; i++)
        if (strcmp(node.profiles[i].name, name) == 0)
            return &node.profiles[i];
    fail("the state names the profile %s, which the node lacks", name);
}

/* Reads `gpu N MODE PENDING`, `instance GPU NUMBER PROFILE START`, `part GPU INSTANCE NUMBER SLICES`. */
static void read_state_line(const char *line)
{
    unsigned gpu, number, other, value;
    char name[TEXT];
    if (sscanf(line, "gpu %u %u %u", &gpu, &number, &other) == 3 && gpu < MAX_GPUS) {
        node.gpus[gpu].mode = number;
        node.gpus[gpu].pending_mode = other;
    } else if (sscanf(line, "instance %u %u %95s %u", &gpu, &number, name, &value) == 4) {
        node.gpus[gpu].instances[number].profile = profile_named(name);
        node.gpus[gpu].instances[number].start = value;
    } else if (sscanf(line, "part %u %u %u %u", &gpu, &number, &other, &value) == 4) {
        node.gpus[gpu].instances[number].parts[other].slices = value;
    } else
        fail("nobody knows this line of the state: %s", line);
}

static void link_devices(void)
{
    for (unsigned gpu = 0; gpu < MAX_GPUS; gpu++) {
        struct nvmlDevice_st *device = &node.gpus[gpu];
        device->index = gpu;
        for (unsigned i = 0; i < MAX_INSTANCES; i++) {
            device->instances[i].gpu = device;
            for (unsigned j = 0; j < MAX_INSTANCES; j++) {
                struct nvmlDevice_st *mig = &node.mig_devices[gpu][i * MAX_INSTANCES + j];
                device->instances[i].parts[j].owner = &device->instances[i];
                mig->index = gpu;
                mig->parent = device;
                mig->part = &device->instances[i].parts[j];
            }
        }
    }
}

void read_node(void)
{
    char line[1024];
    memset(&node, 0, sizeof node);
    link_devices();
    FILE *file = open_file("MOCK_NVML_NODE", "r");
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *text = strchr(line, ' ');
        if (line[0] == '\0' || line[0] == '#')
            continue;
        if (text == NULL)
            fail("%s has no value", line);
        *text++ = '\0';
        read_node_line(line, text);
    }
    fclose(file);
    if (node.gpu_count > MAX_GPUS)
        fail("more than %d GPUs", MAX_GPUS);
    file = open_file("MOCK_NVML_STATE", "r");
    while (fgets(line, sizeof line, file))
        read_state_line(line);
    fclose(file);
}

void write_state(void)
{
    FILE *file = open_file("MOCK_NVML_STATE", "w");
    for (unsigned gpu = 0; gpu < node.gpu_count; gpu++) {
        const struct nvmlDevice_st *device = &node.gpus[gpu];
        fprintf(file, "gpu %u %u %u\n", gpu, device->mode, device->pending_mode);
        for (unsigned i = 0; i < MAX_INSTANCES; i++) {
            const struct nvmlGpuInstance_st *instance = &device->instances[i];
            if (instance->profile == NULL)
                continue;
            fprintf(file, "instance %u %u %s %u\n", gpu, i, instance->profile->name, instance->start);
            for (unsigned j = 0; j < MAX_INSTANCES; j++)
                if (instance->parts[j].slices)
                    fprintf(file, "part %u %u %u %u\n", gpu, i, j, instance->parts[j].slices);
        }
    }
    if (fclose(file) != 0)
        fail("cannot write the state");
}
