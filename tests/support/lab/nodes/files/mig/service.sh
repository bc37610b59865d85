# Stand-in of what the boot service does: its own config.yaml is made anew at every boot, and the
# selected layout is applied. Below 0.15 its exit status says little, so here it says nothing.
cd /etc/nvidia-mig-manager || exit 1
printf 'version: v1\nmig-configs:\n  all-disabled:\n    - devices: all\n      mig-enabled: false\n' >config.yaml
export MIG_PARTED_CONFIG_FILE=${MIG_PARTED_CONFIG_FILE:-/etc/nvidia-mig-manager/config.yaml}
export MIG_PARTED_HOOKS_FILE=${MIG_PARTED_HOOKS_FILE:-/etc/nvidia-mig-manager/hooks.yaml}
export MIG_PARTED_SELECTED_CONFIG
[ -e /run/fake-nvidia/proc/driver/nvidia/version ] || exit 0
nvidia-mig-parted apply || true
