# Stand-in of the package's hooks: what they do to the host, in the order in which they do it.
unit=/etc/systemd/system/nvidia-mig-manager.service.d/override.conf

note() { echo "$1" >>/run/lab-mig/hooks; }

keep_selection() { # the form in which the choice survives a reboot, since 0.14.2
	{
		echo "[Service]"
		[ -z "${MIG_PARTED_CONFIG_FILE-}" ] || echo "Environment=\"MIG_PARTED_CONFIG_FILE=$MIG_PARTED_CONFIG_FILE\""
		[ -z "${MIG_PARTED_HOOKS_FILE-}" ] || echo "Environment=\"MIG_PARTED_HOOKS_FILE=$MIG_PARTED_HOOKS_FILE\""
		echo "Environment=\"MIG_PARTED_SELECTED_CONFIG=$1\""
	} >$unit
	systemctl daemon-reload
}

stop_clients() {
	note "$1"
	! systemctl --quiet is-active kubelet.service || systemctl stop kubelet.service
}

start_clients() {
	note apply-exit
	! systemctl --quiet is-enabled kubelet.service || systemctl start --no-block kubelet.service
}
