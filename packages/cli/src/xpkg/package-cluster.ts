import { type Client, isApiError } from "@xfn/kubernetes";
import { type ClusterFlags, withCluster } from "../cluster/with-cluster.ts";

/** Runs `work` with a client of a cluster that should have packages. @throws CliError */
export function withPackageCluster<T>(flags: ClusterFlags, work: (client: Client) => Promise<T>): Promise<T> {
  return withCluster(flags, work, (error) =>
    isApiError(error, "KindNotServed")
      ? "the API server has no packages: start xfn-controller with --enable-packages, or install Crossplane"
      : undefined,
  );
}
