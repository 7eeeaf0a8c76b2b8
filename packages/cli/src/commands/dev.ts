import { optional, type SettingsOf, settings, text } from "@xfn/program/settings";
import type { ClusterFlags } from "../dev/cluster-command.ts";
import { type CommandContext, declareCommand } from "./command-context.ts";

const SETTINGS: SettingsOf<ClusterFlags> = settings({
  dataDir: text("<dir>", "keep its state here between starts", { shown: "a temporary folder" }),
  users: optional(
    "<names>",
    "make users besides admin, separated by commas, each with its own kubeconfig",
    (text): readonly string[] => text.split(",").filter((name) => name !== ""),
  ),
});

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
export function addDev(context: CommandContext): void {
  const dev = context.program.command("dev").description("tools for development: dev cluster");
  declareCommand({ ...context, program: dev }, "cluster", {
    description: "run a Kubernetes API server on this machine until Ctrl-C",
    settings: SETTINGS,
    help: HELP,
    run: async (flags) => {
      const { runCluster } = await import("../dev/cluster-command.ts");
      return await runCluster(flags, context.output);
    },
  });
}
