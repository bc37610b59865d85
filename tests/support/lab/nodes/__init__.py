"""A laboratory of booted hosts: Debian nodes under systemd-nspawn, and a repository for them."""
