package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"xfn.example/interop/fnv1alpha1"
)

// More than our client accepts (MAX_MESSAGE_BYTES).
const tooLarge = 101 << 20

type runner struct {
	fnv1alpha1.UnimplementedContainerizedFunctionRunnerServiceServer
}

func (runner) RunFunction(ctx context.Context, request *fnv1alpha1.RunFunctionRequest) (*fnv1alpha1.RunFunctionResponse, error) {
	switch request.GetImage() {
	case "describe":
		output, err := describe(ctx, request)
		return &fnv1alpha1.RunFunctionResponse{Output: output}, err
	case "unknown":
		// Fail as the runner of Crossplane v1.13 does.
		return nil, errors.New("cannot run container: exit status 1")
	case "precondition":
		return nil, status.Error(codes.FailedPrecondition, "no such thing")
	case "details":
		return nil, detailed()
	case "large":
		return &fnv1alpha1.RunFunctionResponse{Output: make([]byte, tooLarge)}, nil
	case "wait":
		write(map[string]string{"started": "wait"})
		<-ctx.Done()
		write(map[string]string{"ended": ctx.Err().Error()})
		return nil, ctx.Err()
	}
	return &fnv1alpha1.RunFunctionResponse{Output: request.GetInput()}, nil
}

func describe(ctx context.Context, request *fnv1alpha1.RunFunctionRequest) ([]byte, error) {
	asked, err := protojson.Marshal(request)
	if err != nil {
		return nil, err
	}
	headers, _ := metadata.FromIncomingContext(ctx)
	return json.Marshal(map[string]any{
		"request":       json.RawMessage(asked),
		"authorization": strings.Join(headers.Get("authorization"), ","),
		"step":          strings.Join(headers.Get("xfn-step-bin"), ","),
	})
}

func detailed() error {
	failure, err := status.New(codes.ResourceExhausted, "x:1: it needed more memory than it may have").WithDetails(
		&errdetails.ErrorInfo{Reason: "OUT_OF_MEMORY", Domain: "runner.xfn", Metadata: map[string]string{
			"phase": "run", "exitCode": "137", "retryable": "true",
		}},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)},
		&errdetails.DebugInfo{Detail: "the end of stderr"},
	)
	fail(err)
	return failure.Err()
}

func serve(given options) error {
	network, address := "tcp", given.Address
	if name, ok := strings.CutPrefix(address, "unix-abstract:"); ok {
		network, address = "unix", "@"+name
	} else if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
		// The socket file of a killed server.
		_ = os.Remove(path)
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	settings := []grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage)}
	if given.Cert != "" {
		own, err := tls.LoadX509KeyPair(given.Cert, given.Key)
		fail(err)
		settings = append(settings, grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{own},
			ClientCAs:    pool(given.CA),
			ClientAuth:   tls.RequireAndVerifyClientCert,
		})))
	}
	server := grpc.NewServer(settings...)
	fnv1alpha1.RegisterContainerizedFunctionRunnerServiceServer(server, runner{})
	write(map[string]string{"address": listener.Addr().String()})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Stop()
	}()
	return server.Serve(listener)
}
