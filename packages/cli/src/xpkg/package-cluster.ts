import { ApiError, type Client, connect, isApiError, KubeconfigError, loadKubeconfig } from "@xfn/kubernetes";
import { CliError, usageError } from "../errors/cli-error.ts";

/** Flags that choose the API server. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/**
 * Runs `work` with a client of the API server that the flags choose.
 *
 * @throws CliError `Usage` for a wrong kubeconfig; `Failed` for a server that refuses, with the way out
 */
export async function withCluster<T>(flags: ClusterFlags, work: (client: Client) => Promise<T>): Promise<T> {
  const { kubeconfig: path, context } = flags;
  let access: Awaited<ReturnType<typeof loadKubeconfig>>;
  try {
    access = await loadKubeconfig({ path, context });
  } catch (error) {
    if (error instanceof KubeconfigError) throw usageError(error.message);
    throw error;
  }
  const client = await connect({ access, fieldManager: "xfn", userAgent: "xfn" });
  try {
    return await work(client);
  } catch (error) {
    throw error instanceof ApiError ? explained(error) : error;
  } finally {
    await client.close();
  }
}

function explained(error: ApiError): Error {
  const hint = isApiError(error, "KindNotServed")
    ? "the API server has no packages: start xfn-controller with --enable-packages, or install Crossplane"
    : undefined;
  return new CliError("Failed", error.message, { details: hint === undefined ? [] : [hint], cause: error });
}
