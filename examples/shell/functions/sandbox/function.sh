#!/bin/sh
# A composition function in POSIX shell: a namespace for experiments, with limits.
set -eu

input=$(cat)

# json get|before|after PATH: see json.awk.
json() {
  printf '%s\n' "$input" | LC_ALL=C awk -f "${0%/*}/json.awk" "$@"
}

# JSON strings with their quotes and escapes, so that any value can be copied into the output below.
name=$(json get observed.composite.resource.metadata.name)
memory=$(json get observed.composite.resource.spec.memory)

# Print the entries of earlier steps, two more resources, and the rest of the input.
json before desired.resources
cat <<END
{
  "name": "namespace",
  "resource": {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": $name}
  },
  "readinessChecks": [{"type": "MatchString", "fieldPath": "status.phase", "matchString": "Active"}]
},
{
  "name": "limits",
  "resource": {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "sandbox", "namespace": $name},
    "spec": {"limits": [{"type": "Container", "default": {"memory": $memory}}]}
  },
  "readinessChecks": [{"type": "None"}]
}
END
json after desired.resources
