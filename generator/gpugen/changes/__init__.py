"""What leaves with a change: hosts, pools and roles that the tree in ``out/`` still has."""
