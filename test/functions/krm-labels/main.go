// A KRM function with kustomize's own library: it sets the labels of its functionConfig, a ConfigMap, on all items.
package main

import (
	"os"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/fn/framework/command"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func setLabels(list *framework.ResourceList) error {
	labels := list.FunctionConfig.GetDataMap()
	for _, item := range list.Items {
		for key, value := range labels {
			if err := item.PipeE(yaml.SetLabel(key, value)); err != nil {
				return err
			}
		}
	}
	list.Results = append(list.Results, &framework.Result{Message: "labelled", Severity: framework.Info})
	return nil
}

func main() {
	processor := framework.ResourceListProcessorFunc(setLabels)
	if err := command.Build(processor, command.StandaloneDisabled, false).Execute(); err != nil {
		os.Exit(1)
	}
}
