// fake-kubelet is the kubelet's side of the device plugin API, and nothing else of a kubelet: it
// lets plugins register, asks each for its devices and for an allocation of two of them, and
// prints what it learned as one line of JSON, before the plugin hears that it is registered. It
// ends with its input, so that it does not outlive whoever started it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/urfave/cli/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const patience = 10 * time.Second

// registration is what one plugin offers. Units: its healthy devices. Refusal: what it said to a
// request for two of them; empty if it granted them, or has only one.
type registration struct {
	Resource string `json:"resource"`
	Units    int    `json:"units"`
	Refusal  string `json:"refusal"`
}

type kubelet struct {
	api.UnimplementedRegistrationServer
	folder string
	lines  *json.Encoder
}

// Register dials back, as the kubelet does, and prints what the plugin offers.
func (k *kubelet) Register(ctx context.Context, request *api.RegisterRequest) (*api.Empty, error) {
	if request.Version != api.Version {
		return nil, fmt.Errorf("version %s, but the kubelet speaks %s", request.Version, api.Version)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	address := "unix://" + filepath.Join(k.folder, request.Endpoint)
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	offer, err := learn(ctx, api.NewDevicePluginClient(connection))
	if err != nil {
		return nil, err
	}
	offer.Resource = request.ResourceName
	return &api.Empty{}, k.lines.Encode(offer)
}

func learn(ctx context.Context, plugin api.DevicePluginClient) (registration, error) {
	var offer registration
	stream, err := plugin.ListAndWatch(ctx, &api.Empty{})
	if err != nil {
		return offer, err
	}
	list, err := stream.Recv()
	if err != nil {
		return offer, err
	}
	var healthy []string
	for _, device := range list.Devices {
		if device.Health == api.Healthy {
			healthy = append(healthy, device.ID)
		}
	}
	sort.Strings(healthy)
	offer.Units = len(healthy)
	if len(healthy) > 1 {
		two := &api.ContainerAllocateRequest{DevicesIds: healthy[:2]}
		request := &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{two}}
		if _, err := plugin.Allocate(ctx, request); err != nil {
			offer.Refusal = err.Error()
		}
	}
	return offer, nil
}

func serve(folder string) error {
	socket := filepath.Join(folder, "kubelet.sock")
	if err := os.RemoveAll(socket); err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterRegistrationServer(server, &kubelet{folder: folder, lines: json.NewEncoder(os.Stdout)})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		server.Stop()
	}()
	return server.Serve(listener)
}

func main() {
	app := &cli.App{
		Name:      "fake-kubelet",
		Usage:     "print what device plugins register",
		UsageText: "fake-kubelet --folder FOLDER",
		Flags:     []cli.Flag{&cli.StringFlag{Name: "folder", Required: true}},
		Action:    func(c *cli.Context) error { return serve(c.String("folder")) },
	}
	if err := app.Run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
