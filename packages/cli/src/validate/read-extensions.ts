import { asInputError, sourceName } from "@xfn/input";
import { type ParsedDocument, readDocuments, unwrapLists } from "@xfn/json/document";
import type { ClusterFlags } from "../cluster/with-cluster.ts";
import { usageError } from "../errors/cli-error.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { PackageFlags } from "../xpkg/package-stream.ts";
import { isFileSource } from "./extension-source.ts";
import { readSources, sourcesOf } from "./read-sources.ts";

/** Flags that say how to reach registries and the API server. */
export type ExtensionFlags = PackageFlags & ClusterFlags;

/**
 * Reads the documents of a comma-separated list of extensions: files and folders as {@link readSources}, packages
 * (`FILE.xpkg`, `oci:DIR[:TAG]`, `xpkg:NAME`), and `cluster:`, which is all CRDs of the API server.
 *
 * @throws InputError
 * @throws CliError
 */
export async function readExtensionSources(list: string, flags: ExtensionFlags): Promise<readonly ParsedDocument[]> {
  const sources = sourcesOf(list);
  const files = sources.filter(isFileSource);
  const documents = files.length > 0 || sources.length === 0 ? [...(await readSources(files.join(",")))] : [];
  for (const source of sources.filter((one) => !isFileSource(one)))
    documents.push(...(await readElsewhere(source, flags)));
  return documents;
}

async function readElsewhere(source: string, flags: ExtensionFlags): Promise<readonly ParsedDocument[]> {
  if (source === "cluster:") {
    const { crdsOfCluster } = await import("./cluster-crds.ts");
    return await crdsOfCluster(flags);
  }
  if (source.startsWith("cluster:"))
    throw usageError(`${sourceName(source)}: cluster: has no name after it; --context chooses another cluster`);
  const { streamOfFile, streamOfImage } = await import("../xpkg/package-stream.ts");
  const content = await interruptible((signal) =>
    source.endsWith(".xpkg") && !source.startsWith("xpkg:")
      ? streamOfFile(source, signal)
      : streamOfImage(source.replace(/^xpkg:/, ""), flags, signal),
  );
  return asInputError(source, () => unwrapLists(readDocuments(content, { source })));
}
