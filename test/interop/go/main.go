// A client and a server of the runner contract with gRPC for Go.
//
//	peer certificates FOLDER  writes ca.pem, and a certificate and key each for server and client
//	peer call OPTIONS         a client: reads orders, one a line, and writes the outcome of each
//	peer serve OPTIONS        a server: writes its address, then reports about waiting calls
//
// OPTIONS, orders and results are JSON; test/interop/peer.ts has their types. The build generates the messages of fnv1alpha1
// from proto/.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

type options struct {
	Address string `json:"address"`
	CA      string `json:"ca"`
	Cert    string `json:"cert"`
	Key     string `json:"key"`
}

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: peer certificates|call|serve ARGUMENT"))
	}
	var given options
	if os.Args[1] != "certificates" {
		fail(json.Unmarshal([]byte(os.Args[2]), &given))
	}
	switch os.Args[1] {
	case "certificates":
		fail(writeCertificates(os.Args[2]))
	case "call":
		fail(call(given))
	case "serve":
		fail(serve(given))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var writing sync.Mutex

func write(line any) {
	writing.Lock()
	defer writing.Unlock()
	fail(json.NewEncoder(os.Stdout).Encode(line))
}
