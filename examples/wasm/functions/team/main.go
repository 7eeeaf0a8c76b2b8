// A composition function in Go for WebAssembly: each team gets a namespace with a quota.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// The fields that this function reads. Entries of earlier steps remain raw JSON, so that nothing in them is lost.
type input struct {
	Observed struct {
		Composite struct {
			Resource team `json:"resource"`
		} `json:"composite"`
	} `json:"observed"`
	Desired desired           `json:"desired"`
	Results []json.RawMessage `json:"results"`
}

// The output omits observed state, which a function cannot change.
type output struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Desired    desired           `json:"desired"`
	Results    []json.RawMessage `json:"results,omitempty"`
}

type desired struct {
	Composite json.RawMessage   `json:"composite,omitempty"`
	Resources []json.RawMessage `json:"resources,omitempty"`
}

type team struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Members int `json:"members"`
	} `json:"spec"`
}

type object map[string]any

func main() {
	var in input
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		// An internal failure: the runner reports stderr.
		fmt.Fprintln(os.Stderr, "the input is not a FunctionIO:", err)
		os.Exit(1)
	}
	out := output{
		APIVersion: "apiextensions.crossplane.io/v1alpha1",
		Kind:       "FunctionIO",
		Desired:    in.Desired,
		Results:    in.Results,
	}
	xr := in.Observed.Composite.Resource
	if xr.Spec.Members < 1 {
		// A user's mistake: the fatal result reports it, and nothing is applied.
		out.Results = append(out.Results, encode(object{"severity": "Fatal", "message": "spec.members must be at least 1"}))
	} else {
		out.Desired.Resources = append(out.Desired.Resources, compose(xr)...)
	}
	os.Stdout.Write(encode(out))
}

func compose(xr team) []json.RawMessage {
	name := xr.Metadata.Name
	members := xr.Spec.Members
	return []json.RawMessage{
		entry("namespace", object{
			"apiVersion": "v1",
			"kind":       "Namespace",
			"metadata":   object{"name": name},
		}),
		entry("quota", object{
			"apiVersion": "v1",
			"kind":       "ResourceQuota",
			"metadata":   object{"name": "quota", "namespace": name},
			"spec": object{"hard": object{
				"requests.cpu":    members,
				"requests.memory": fmt.Sprintf("%dGi", 2*members),
			}},
		}),
	}
}

// entry desires a resource, which is ready as soon as it exists.
func entry(name string, resource object) json.RawMessage {
	return encode(object{"name": name, "resource": resource, "readinessChecks": []object{{"type": "None"}}})
}

func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot fail for values of these types
	}
	return text
}
