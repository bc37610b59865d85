/* Stand-in of nvidia-smi -L, without a library: one line for every device of a GPU that it sees. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int seen = 0;
    for (int gpu = 0; gpu < 16; gpu++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", gpu);
        if (access(path, F_OK) == 0)
            printf("GPU %d: NVIDIA A100-SXM4-40GB (UUID: GPU-%d)\n", seen++, gpu);
    }
    if (seen == 0)
        fprintf(stderr, "No devices were found\n");
    return seen == 0 ? 6 : 0;
}
