"""The real programs and schemas that validate what gpugen writes."""
