"""Components: what Ansible brings the hosts to."""
