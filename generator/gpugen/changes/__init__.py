"""What a change removes: hosts, pools and roles that the tree in ``out/`` still has."""
