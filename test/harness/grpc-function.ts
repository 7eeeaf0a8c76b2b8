import { type BuildEntry, buildImage } from "@xfn/oci-rootfs";
import { storeOf } from "./shell-function.ts";
import type { Workspace } from "./workspace.ts";

/** `package.yaml` of a package of a Function. */
const FUNCTION_PACKAGE = `apiVersion: meta.pkg.crossplane.io/v1
kind: Function
metadata:
  name: function-greeting
`;

/** The image of a function that is a gRPC server. */
export interface GrpcImage {
  name: string;
  /** A static program on this machine, which becomes /function and the entrypoint. */
  program?: string;
  /** Without a program: files of the image. */
  entries?: readonly BuildEntry[];
  entrypoint?: readonly string[];
  base?: string;
  env?: Readonly<Record<string, string>>;
  /** Content of `package.yaml`; default {@link FUNCTION_PACKAGE}; undefined for none. */
  packageFile?: string | undefined;
}

/** Builds an image of a function that is a gRPC server into a workspace's store. @returns its name */
export async function buildGrpcImage(workspace: Workspace, image: GrpcImage): Promise<string> {
  const store = await storeOf(workspace);
  const packageFile = "packageFile" in image ? image.packageFile : FUNCTION_PACKAGE;
  const entries: BuildEntry[] = [...(image.entries ?? []), { path: "tmp", directory: true, mode: 0o1777 }];
  if (image.program !== undefined) entries.push({ path: "function", source: image.program, mode: 0o755 });
  const layers = [{ entries, compression: "none" as const }];
  if (packageFile !== undefined)
    layers.push({ entries: [{ path: "package.yaml", content: packageFile }], compression: "none" as const });
  const entrypoint = image.entrypoint ?? (image.program === undefined ? undefined : ["/function"]);
  await buildImage({
    store,
    name: image.name,
    layers,
    ...(image.base === undefined ? {} : { base: await store.image(image.base) }),
    config: { user: "2000:2000", ...(entrypoint && { entrypoint }), ...(image.env && { env: image.env }) },
  });
  return image.name;
}
