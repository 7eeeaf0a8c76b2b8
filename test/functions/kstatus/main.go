// kstatus computes the status of objects as Flux and Helm do. It reads a JSON list of objects from stdin, and prints a
// JSON list of statuses.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var texts []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	statuses := make([]string, 0, len(texts))
	for _, text := range texts {
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(text); err != nil {
			return err
		}
		computed, err := status.Compute(&object)
		if err != nil {
			return err
		}
		statuses = append(statuses, computed.Status.String())
	}
	return json.NewEncoder(os.Stdout).Encode(statuses)
}
