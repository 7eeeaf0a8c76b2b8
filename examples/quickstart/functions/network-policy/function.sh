#!/bin/sh
# Lets only the clients that an XDatabase names connect to its PostgreSQL cluster.
#
# A function reads a FunctionIO from standard input and prints it with additions. This function copies its input byte for
# byte, and inserts an element into desired.resources.
set -eu

input=$(cat)

# json get|before|after PATH: see json.awk.
json() {
  printf '%s\n' "$input" | LC_ALL=C awk -f "${0%/*}/json.awk" "$@"
}

# Ends with a fatal result, so that nothing is applied.
fatal() {
  json before results
  printf '{"severity":"Fatal","message":"%s"}' "$1"
  json after results
  exit 0
}

# These values are JSON. Strings keep their quotes and escapes, so that they can be copied into the policy.
name=$(json get observed.composite.resource.metadata.name)
namespace=$(json get observed.composite.resource.spec.namespace)
clients=$(json get observed.composite.resource.spec.clients)

case $namespace in
  '"'?*'"') ;;
  *) fatal 'spec.namespace must name a namespace' ;;
esac
case $clients in
  null | '[]') client_rule= ;; # no clients, no rule: "In []" is refused by Kubernetes, and "from: []" lets everyone in
  '['*) client_rule='{
    "from": [{
      "podSelector": {
        "matchExpressions": [{"key": "app.kubernetes.io/name", "operator": "In", "values": '$clients'}]
      }
    }],
    "ports": [{"port": 5432}]
  },' ;;
  *) fatal 'spec.clients must be a list of application names' ;;
esac

json before desired.resources
cat <<END
{
  "name": "network-policy",
  "resource": {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": $name, "namespace": $namespace},
    "spec": {
      "podSelector": {"matchLabels": {"cnpg.io/cluster": $name}},
      "ingress": [
        $client_rule
        {
          "from": [
            {"podSelector": {"matchLabels": {"cnpg.io/cluster": $name}}},
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "cnpg-system"}}}
          ]
        }
      ]
    }
  },
  "readinessChecks": [{"type": "None"}]
}
END
json after desired.resources
