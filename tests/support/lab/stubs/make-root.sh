#!/bin/sh
# Makes the root of the sandbox and holds it until its input ends. Runs in a mount namespace of its
# own. Arguments: where to mount it, the mock of NVML, and name=file for each program.
set -eu
root=$1 library=$2
shift 2

mount -t tmpfs -o mode=755 lab "$root"
cd "$root"
mkdir -p dev etc lab/bin lab/lib proc/driver/nvidia-caps run tmp .proc mps \
  sys/bus/pci/devices sys/class/dmi/id usr/share/misc var/lib/kubelet/device-plugins \
  var/run/cdi

# Programs and their libraries, as the machine has them.
for folder in bin sbin lib lib32 lib64; do
  for path in "$folder" "usr/$folder"; do
    if [ -L "/$path" ]; then
      ln -s "$(readlink "/$path")" "$path"
    elif [ -d "/$path" ]; then
      mkdir -p "$path"
      mount --rbind "/$path" "$path"
    fi
  done
done
# Names of PCI devices; nobody here wants any, and the built-in list is read for each GPU anew.
echo '10de  NVIDIA Corporation' >usr/share/misc/pci.ids
for device in null zero urandom; do
  : >"dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
: >"lab/lib/${library##*/}"
mount --bind "$library" "lab/lib/${library##*/}"
for program; do
  : >"lab/bin/${program%%=*}"
  mount --bind "${program#*=}" "lab/bin/${program%%=*}"
done

# /proc is a folder of ours with the driver's files; a process still finds itself.
mount --rbind /proc .proc
for name in self thread-self cpuinfo meminfo stat sys; do
  ln -s "/.proc/$name" "proc/$name"
done
echo 'nvidia 1 0 - Live 0x0' >proc/modules
{
  echo 'config 1'
  echo 'monitor 2'
  minor=3
  for gpu in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    for instance in 0 1 2 3 4 5 6 7; do
      echo "gpu$gpu/gi$instance/access $minor"
      minor=$((minor + 1))
      for part in 0 1 2 3 4 5 6 7; do
        echo "gpu$gpu/gi$instance/ci$part/access $minor"
        minor=$((minor + 1))
      done
    done
  done
} >proc/driver/nvidia-caps/mig-minors
echo 'Mock Node' >sys/class/dmi/id/product_name

# Whoever enters takes over this process's root, so nothing is said before it has it.
exec chroot "$root" /bin/sh -c 'echo ready; exec cat'
