import { ApiError, type Client, type ClusterAccess, connect, KubeconfigError, loadKubeconfig } from "@xfn/kubernetes";
import { CliError, usageError } from "../errors/cli-error.ts";

/** Flags that choose the API server. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/**
 * Runs `work` with a client of the API server that the flags choose.
 *
 * @param hintOf - the way out for an error of the API server
 * @throws CliError `Usage` for a wrong kubeconfig; `Failed` for a server that refuses, with the way out
 */
export async function withCluster<T>(
  flags: ClusterFlags,
  work: (client: Client, access: ClusterAccess) => Promise<T>,
  hintOf: (error: ApiError) => string | undefined = () => undefined,
): Promise<T> {
  const { kubeconfig: path, context } = flags;
  let access: ClusterAccess;
  try {
    access = await loadKubeconfig({ path, context });
  } catch (error) {
    if (error instanceof KubeconfigError) throw usageError(error.message);
    throw error;
  }
  const client = await connect({ access, fieldManager: "xfn", userAgent: "xfn" });
  try {
    return await work(client, access);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const hint = hintOf(error);
    throw new CliError("Failed", error.message, { details: hint === undefined ? [] : [hint], cause: error });
  } finally {
    await client.close();
  }
}
