import { anyText, declareSettings, optional, type SettingsOf } from "@xfn/program/settings";
import type { ClusterFlags } from "../dev/cluster-command.ts";
import { type CommandContext, readFlags } from "./command-context.ts";

const SETTINGS: SettingsOf<ClusterFlags> = {
  dataDir: optional("data-dir", "<dir>", "keep its state here between starts", anyText, {
    shown: "a temporary folder",
  }),
  users: optional(
    "users",
    "<names>",
    "make users besides admin, separated by commas, each with its own kubeconfig",
    (text): readonly string[] => text.split(",").filter((name) => name !== ""),
  ),
};

const HELP = `
Runs etcd, kube-apiserver and kube-controller-manager on loopback until Ctrl-C. There are no nodes: pods are accepted, but never
run. The programs come from KUBEBUILDER_ASSETS, else from xfn's cache. Missing ones are built there with Go, once, in some minutes.

Example:
  $ xfn dev cluster --data-dir ./cluster
  export KUBECONFIG=/home/ada/cluster/kubeconfig

  # in another terminal: KUBECONFIG as above, and a kubectl on the PATH
  $ . ./cluster/env
  $ kubectl get namespaces`;

/** Declares `xfn dev`. */
export function addDev({ program, output, finish }: CommandContext): void {
  const dev = program.command("dev").description("tools for development: dev cluster");
  const command = dev.command("cluster").description("run a Kubernetes API server on this machine until Ctrl-C");
  declareSettings(command, SETTINGS)
    .addHelpText("after", HELP)
    .action(async () => {
      const flags = readFlags(command, SETTINGS);
      const { runCluster } = await import("../dev/cluster-command.ts");
      finish(await runCluster(flags, output));
    });
}
