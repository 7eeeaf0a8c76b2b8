// A function with the official Go SDK: it composes a ConfigMap with the XR's greeting.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/crossplane/function-sdk-go"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/request"
	"github.com/crossplane/function-sdk-go/response"
	"google.golang.org/protobuf/types/known/structpb"
)

// How many calls asked for their number.
var calls atomic.Int64

type greeting struct {
	fnv1.UnimplementedFunctionRunnerServiceServer
}

func (greeting) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	rsp := response.To(req, response.DefaultTTL)
	xr, err := request.GetObservedCompositeResource(req)
	if err != nil {
		response.Fatal(rsp, err)
		return rsp, nil
	}
	if fatal := os.Getenv("FATAL"); fatal != "" {
		response.Fatal(rsp, errors.New(fatal))
		return rsp, nil
	}
	name, _ := xr.Resource.GetString("spec.name")
	switch name {
	case "crash":
		os.Exit(7)
	case "fail":
		os.Stderr.WriteString("failing\n")
		return nil, errors.New("failed")
	case "spin":
		go func() {
			for {
			}
		}()
	case "calls":
		name = strconv.FormatInt(calls.Add(1), 10)
	}
	object := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"greeting": os.Getenv("GREETING") + " " + name},
	}
	if namespace := os.Getenv("NAMESPACE"); namespace != "" {
		object["metadata"] = map[string]any{"namespace": namespace}
	}
	config, err := structpb.NewStruct(object)
	if err != nil {
		return nil, err
	}
	if rsp.Desired.Resources == nil {
		rsp.Desired.Resources = map[string]*fnv1.Resource{}
	}
	rsp.Desired.Resources["greeting"] = &fnv1.Resource{Resource: config}
	if os.Getenv("READY") != "" {
		rsp.Desired.Resources["greeting"].Ready = fnv1.Ready_READY_TRUE
	}
	response.Normalf(rsp, "greeted %s", name)
	return rsp, nil
}

func main() {
	insecure := flag.Bool("insecure", false, "serve without TLS")
	network := flag.String("network", "tcp", "tcp or unix")
	address := flag.String("address", ":9443", "where to listen")
	flag.Parse()
	log, err := function.NewLogger(false)
	if err != nil {
		panic(err)
	}
	log.Info("starting")
	certificates := function.MTLSCertificates(os.Getenv("TLS_SERVER_CERTS_DIR"))
	err = function.Serve(greeting{}, function.Listen(*network, *address), certificates, function.Insecure(*insecure))
	if err != nil {
		panic(err)
	}
}
