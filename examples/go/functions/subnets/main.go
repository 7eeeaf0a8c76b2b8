// A composition function in Go, with the standard library alone: each zone of a network gets a subnet.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
)

// The fixed number of subnets of a network, used or not, so that a new zone does not move the others.
const (
	zones    = 16
	zoneBits = 4
)

// The fields that this function reads. Entries of earlier steps remain raw JSON, so that nothing in them is lost.
type input struct {
	Observed struct {
		Composite struct {
			Resource network `json:"resource"`
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

type network struct {
	Spec struct {
		Region string   `json:"region"`
		CIDR   string   `json:"cidr"`
		Zones  []string `json:"zones"`
	} `json:"spec"`
}

// entry is a desired composed resource.
type entry struct {
	Name     string `json:"name"`
	Resource any    `json:"resource"`
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
	entries, err := compose(in.Observed.Composite.Resource)
	if err != nil {
		// A user's mistake: the fatal result reports it, and nothing is applied.
		out.Results = append(out.Results, encode(object{"severity": "Fatal", "message": err.Error()}))
	}
	for _, entry := range entries {
		out.Desired.Resources = append(out.Desired.Resources, encode(entry))
	}
	os.Stdout.Write(encode(out))
}

func compose(xr network) ([]entry, error) {
	spec := xr.Spec
	cidr, err := netip.ParsePrefix(spec.CIDR)
	if err != nil || !cidr.Addr().Is4() || cidr != cidr.Masked() {
		return nil, fmt.Errorf("spec.cidr: %q is not an IPv4 network, such as 10.20.0.0/16", spec.CIDR)
	}
	if cidr.Bits() < 16 || cidr.Bits() > 24 {
		return nil, fmt.Errorf("spec.cidr: /%d is not between /16 and /24", cidr.Bits())
	}
	if len(spec.Zones) > zones {
		return nil, fmt.Errorf("spec.zones: there is room for %d, not for %d", zones, len(spec.Zones))
	}
	entries := []entry{{"vpc", object{
		"apiVersion": "ec2.aws.upbound.io/v1beta1",
		"kind":       "VPC",
		"spec":       object{"forProvider": object{"region": spec.Region, "cidrBlock": cidr}},
	}}}
	for i, zone := range spec.Zones {
		entries = append(entries, entry{"subnet-" + zone, object{
			"apiVersion": "ec2.aws.upbound.io/v1beta1",
			"kind":       "Subnet",
			"spec": object{"forProvider": object{
				"region":           spec.Region,
				"availabilityZone": zone,
				"cidrBlock":        subnet(cidr, i),
				"vpcIdSelector":    object{"matchControllerRef": true},
			}},
		}})
	}
	return entries, nil
}

// subnet returns the network's part with the given index.
func subnet(network netip.Prefix, index int) netip.Prefix {
	length := network.Bits() + zoneBits
	address := network.Addr().As4()
	first := binary.BigEndian.Uint32(address[:]) | uint32(index)<<(32-length)
	binary.BigEndian.PutUint32(address[:], first)
	return netip.PrefixFrom(netip.AddrFrom4(address), length)
}

func encode(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot fail for values of these types
	}
	return text
}
