// Renders a Composition's templates with the engine of Crossplane v1.13: the peer of compose.bench.ts, which builds this file inside
// a copy of github.com/crossplane/crossplane, as the engine is internal there.
// Usage: main COMPOSITION XR, both JSON; for each line of stdin, a count, it renders that often and prints the nanoseconds.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/pkg/resource/unstructured/composed"
	"github.com/crossplane/crossplane-runtime/pkg/resource/unstructured/composite"
	v1 "github.com/crossplane/crossplane/apis/apiextensions/v1"
	engine "github.com/crossplane/crossplane/internal/controller/apiextensions/composite"
)

// server does nothing: what an API server costs is not measured.
type server struct{ client.Client }

func (server) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

func main() {
	runtime.GOMAXPROCS(1)
	composition := &v1.Composition{}
	read(os.Args[1], composition)
	xr := composite.New()
	read(os.Args[2], xr)
	renderer := engine.NewAPIDryRunRenderer(server{})

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		count, err := strconv.Atoi(lines.Text())
		check(err)
		began := time.Now()
		for i := 0; i < count; i++ {
			templates, err := engine.ComposedTemplates(composition.Spec.PatchSets, composition.Spec.Resources)
			check(err)
			for _, template := range templates {
				check(renderer.Render(context.Background(), xr, composed.New(), template, nil))
			}
		}
		fmt.Println(time.Since(began).Nanoseconds())
	}
}

func read(path string, into any) {
	data, err := os.ReadFile(path)
	check(err)
	check(json.Unmarshal(data, into))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
