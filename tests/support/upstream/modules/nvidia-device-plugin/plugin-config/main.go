// plugin-config reads one config file as the NVIDIA device plugin does, prints the
// configuration that results as JSON, and ends with 1 where the plugin refuses it.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	config "github.com/NVIDIA/k8s-device-plugin/api/config/v1"
	"github.com/urfave/cli/v2"
)

func main() {
	app := &cli.App{
		Name:      "plugin-config",
		Usage:     "judge a config file of the NVIDIA device plugin",
		UsageText: "plugin-config --config-file FILE",
		Flags:     []cli.Flag{&cli.StringFlag{Name: "config-file", Required: true}},
		Action: func(c *cli.Context) error {
			result, err := config.NewConfig(c, nil)
			if err != nil {
				return err
			}
			encoder := json.NewEncoder(os.Stdout)
			encoder.SetIndent("", "  ")
			return encoder.Encode(result)
		},
	}
	if err := app.Run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
