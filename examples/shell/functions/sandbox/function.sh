#!/bin/sh
# A composition function in POSIX shell: a namespace to try things in, with limits.
set -eu

input=$(cat)

# json get|before|after PATH: see json.awk.
json() {
  printf '%s\n' "$input" | LC_ALL=C awk -f "${0%/*}/json.awk" "$@"
}

# JSON strings, still quoted and escaped: they can stand below as they are, whatever they say.
name=$(json get observed.composite.resource.metadata.name)
memory=$(json get observed.composite.resource.spec.memory)

# What earlier steps desired, two more resources, and the rest of the input.
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
