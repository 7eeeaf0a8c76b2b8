// Applies config maps with Go's own client, and prints how long that took as JSON.
//
//	kubernetes-peer KUBECONFIG NAMESPACE PREFIX COUNT CONCURRENCY
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("usage: kubernetes-peer KUBECONFIG NAMESPACE PREFIX COUNT CONCURRENCY")
	}
	count, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	concurrency, err := strconv.Atoi(args[4])
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	// Its limit of 5 requests a second is not what is compared.
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(args[1])
	apply := func(name string) error {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "ConfigMap",
			"metadata":   map[string]any{"name": name, "namespace": args[1], "labels": map[string]any{"bench": "apply"}},
			"data":       map[string]any{"a": "b", "text": "as much as a small object has", "name": name},
		}}
		_, err := maps.Apply(context.Background(), name, object, metav1.ApplyOptions{FieldManager: "bench", Force: true})
		return err
	}
	// The connection and the first of everything are not what is compared either.
	if err := apply(args[2] + "-warm"); err != nil {
		return err
	}
	names := make(chan string)
	failures := make(chan error, concurrency)
	var group sync.WaitGroup
	begin := time.Now()
	for range concurrency {
		group.Add(1)
		go func() {
			defer group.Done()
			for name := range names {
				if err := apply(name); err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	for i := range count {
		names <- fmt.Sprintf("%s-%d", args[2], i)
	}
	close(names)
	group.Wait()
	seconds := time.Since(begin).Seconds()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{"seconds": seconds})
}
