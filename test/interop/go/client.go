package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	// Importing the package registers its messages for status.Details.
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"

	"xfn.example/interop/fnv1alpha1"
)

const maxMessage = 256 << 20

type order struct {
	ID        int    `json:"id"`
	Image     string `json:"image"`
	Input     string `json:"input"`
	Bytes     int    `json:"bytes"`
	TimeoutMs int    `json:"timeoutMs"`
	Token     string `json:"token"`
	Settings  bool   `json:"settings"`
	Cancel    bool   `json:"cancel"`
	Health    bool   `json:"health"`
	Reflect   string `json:"reflect"`
}

type result struct {
	ID      int               `json:"id"`
	Code    int               `json:"code"`
	Text    string            `json:"text,omitempty"`
	Details []json.RawMessage `json:"details,omitempty"`
	Output  string            `json:"output,omitempty"`
	Bytes   int               `json:"bytes"`
	Same    bool              `json:"same"`
}

func call(given options) error {
	secure := insecure.NewCredentials()
	if given.CA != "" {
		config := &tls.Config{RootCAs: pool(given.CA), ServerName: "localhost"}
		if given.Cert != "" {
			own, err := tls.LoadX509KeyPair(given.Cert, given.Key)
			fail(err)
			config.Certificates = []tls.Certificate{own}
		}
		secure = credentials.NewTLS(config)
	}
	connection, err := grpc.NewClient(given.Address, grpc.WithTransportCredentials(secure),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	defer connection.Close()
	var calls sync.WaitGroup
	cancels := map[int]context.CancelFunc{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked order
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		if asked.Cancel {
			cancels[asked.ID]()
			continue
		}
		limit := 60 * time.Second
		if asked.TimeoutMs > 0 {
			limit = time.Duration(asked.TimeoutMs) * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		cancels[asked.ID] = cancel
		if asked.Token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+asked.Token)
		}
		calls.Add(1)
		go func() {
			defer calls.Done()
			defer cancel()
			write(carryOut(ctx, connection, asked))
		}()
	}
	// Ignore calls that are still running.
	for _, cancel := range cancels {
		cancel()
	}
	calls.Wait()
	return lines.Err()
}

func carryOut(ctx context.Context, connection *grpc.ClientConn, asked order) result {
	var found result
	var err error
	switch {
	case asked.Health:
		var answer *grpc_health_v1.HealthCheckResponse
		answer, err = grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		found.Output = answer.GetStatus().String()
	case asked.Reflect != "":
		found.Output, err = reflect(ctx, connection, asked.Reflect)
	default:
		found, err = run(ctx, connection, asked)
	}
	found.ID = asked.ID
	failure := status.Convert(err)
	found.Code = int(failure.Code())
	found.Text = failure.Message()
	for _, detail := range failure.Details() {
		message, ok := detail.(proto.Message)
		if !ok {
			found.Text += " (a detail that cannot be read)"
			continue
		}
		text, err := protojson.Marshal(message)
		fail(err)
		named, err := json.Marshal(map[string]json.RawMessage{string(message.ProtoReflect().Descriptor().Name()): text})
		fail(err)
		found.Details = append(found.Details, named)
	}
	return found
}

func run(ctx context.Context, connection *grpc.ClientConn, asked order) (result, error) {
	request := &fnv1alpha1.RunFunctionRequest{Image: asked.Image, Input: []byte(asked.Input)}
	if asked.Bytes > 0 {
		request.Input = bytes.Repeat([]byte("0123456789abcdefg"), asked.Bytes/17+1)[:asked.Bytes]
	}
	if asked.Settings {
		request.ImagePullConfig = &fnv1alpha1.ImagePullConfig{
			PullPolicy: fnv1alpha1.ImagePullPolicy_IMAGE_PULL_POLICY_ALWAYS,
			Auth:       &fnv1alpha1.ImagePullAuth{Username: "u", Password: "p"},
		}
		request.RunFunctionConfig = &fnv1alpha1.RunFunctionConfig{
			Timeout:   durationpb.New(1500 * time.Millisecond),
			Network:   &fnv1alpha1.NetworkConfig{Policy: fnv1alpha1.NetworkPolicy_NETWORK_POLICY_RUNNER},
			Resources: &fnv1alpha1.ResourceConfig{Limits: &fnv1alpha1.ResourceLimits{Memory: "128Mi", Cpu: "250m"}},
		}
	}
	answer, err := fnv1alpha1.NewContainerizedFunctionRunnerServiceClient(connection).RunFunction(ctx, request)
	found := result{Bytes: len(answer.GetOutput()), Same: bytes.Equal(request.Input, answer.GetOutput())}
	if found.Bytes < 4096 {
		found.Output = string(answer.GetOutput())
	}
	return found, err
}

// Lists the services and requests the file that describes one of them, as grpcurl does.
func reflect(ctx context.Context, connection *grpc.ClientConn, symbol string) (string, error) {
	stream, err := grpc_reflection_v1.NewServerReflectionClient(connection).ServerReflectionInfo(ctx)
	if err != nil {
		return "", err
	}
	fail(stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
	}))
	fail(stream.CloseSend())
	answer, err := stream.Recv()
	if err != nil && err != io.EOF {
		return "", err
	}
	var names []string
	for _, file := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		var described descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(file, &described); err != nil {
			return "", err
		}
		names = append(names, described.GetName())
	}
	return strings.Join(names, " "), nil
}

func pool(file string) *x509.CertPool {
	content, err := os.ReadFile(file)
	fail(err)
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(content)
	return authorities
}
