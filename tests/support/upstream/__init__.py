"""The real programs and schemas that judge what gpugen writes."""
