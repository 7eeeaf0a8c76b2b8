// Applies ConfigMaps with client-go. Each line of standard input is a prefix of names, and starts COUNT applies. The program
// prints their duration as a line of JSON.
//
//	kubernetes-peer KUBECONFIG NAMESPACE COUNT CONCURRENCY
package main

import (
	"bufio"
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
	if len(args) != 4 {
		return fmt.Errorf("usage: kubernetes-peer KUBECONFIG NAMESPACE COUNT CONCURRENCY")
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	concurrency, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	// Disables client-go's default limit of 5 requests a second.
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
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		seconds, err := round(apply, lines.Text(), count, concurrency)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(map[string]float64{"seconds": seconds}); err != nil {
			return err
		}
	}
	return lines.Err()
}

func round(apply func(name string) error, prefix string, count, concurrency int) (float64, error) {
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
					select {
					case failures <- err:
					default:
					}
				}
			}
		}()
	}
	for i := range count {
		names <- fmt.Sprintf("%s-%d", prefix, i)
	}
	close(names)
	group.Wait()
	seconds := time.Since(begin).Seconds()
	close(failures)
	return seconds, <-failures
}
