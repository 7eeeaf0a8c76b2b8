import { join } from "node:path";
import {
  type BuildEntry,
  type BuildLayer,
  buildImage,
  buildIndex,
  type Image,
  openStore,
  type Platform,
} from "@xfn/oci-rootfs";
import { type Architecture, debianEntries } from "./debian.ts";
import { npmPackage } from "./npm-package.ts";
import { programEntries } from "./programs.ts";

/** The first is for all programs. The second, for a controller alone, has nothing that runs containers. */
const IMAGES = ["xfn", "xfn-controller"] as const;

/** Debian's name, and Node's. */
const PLATFORMS: readonly (readonly [Architecture, string])[] = [
  ["amd64", "x64"],
  ["arm64", "arm64"],
];

/** No user has this number on a host, and deploy/ runs pods with it. */
const USER = "65532";

export interface BuiltImage {
  readonly name: string;
  readonly digest: string;
}

export interface ImageBuildOptions {
  readonly version: string;
  /** Gets one OCI layout for each image. */
  readonly output: string;
  /** A folder for a store, which the caller removes. */
  readonly scratch: string;
}

/**
 * Builds the images for both platforms. Both contain all programs, whose layer registries and nodes share. The same
 * checkout gives the same digests.
 */
export async function buildImages({ version, output, scratch }: ImageBuildOptions): Promise<BuiltImage[]> {
  const store = await openStore({ dir: scratch });
  const programs: BuildLayer = { entries: await programEntries(version) };
  const bases: { platform: Platform; base: Image; native: BuildLayer; runner: BuildLayer }[] = [];
  for (const [architecture, cpu] of PLATFORMS) {
    const platform: Platform = { os: "linux", architecture };
    const name = `base/${architecture}`;
    await buildImage({ store, name, platform, layers: [{ entries: baseEntries(architecture, cpu) }] });
    const base = await store.image(name, { pullPolicy: "Never", platform });
    const runner = { entries: debianEntries(architecture, "runner") };
    bases.push({ platform, base, native: { entries: nativeEntries(cpu) }, runner });
  }
  const built: BuiltImage[] = [];
  for (const name of IMAGES) {
    const images = bases.map(({ platform, base, native, runner }) => ({
      platform,
      base,
      layers: [...(name === "xfn" ? [runner] : []), native, programs],
      config: {
        entrypoint: [`/usr/local/bin/${name}`],
        user: `${USER}:${USER}`,
        env: { PATH: "/usr/local/bin:/usr/bin:/bin", NODE_ENV: "production" },
        workdir: "/",
        labels: labels(name, version),
      },
      annotations: labels(name, version),
    }));
    const target = `oci:${join(output, name)}:${version}`;
    const { digest } = await buildIndex({ store, name: target, images, annotations: labels(name, version) });
    built.push({ name, digest });
  }
  return built;
}

function labels(name: string, version: string): Record<string, string> {
  return {
    "org.opencontainers.image.title": name,
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.licenses": "Apache-2.0",
  };
}

/** Node, its libraries, and the files that every program expects. */
function baseEntries(architecture: Architecture, cpu: string): BuildEntry[] {
  const node = npmPackage(new URL(`../node/linux-${cpu}/package-lock.json`, import.meta.url), `node-linux-${cpu}`);
  const text = (path: string, ...lines: string[]): BuildEntry => ({ path, content: `${lines.join("\n")}\n` });
  return [
    ...["/dev", "/proc", "/run", "/sys"].map((path): BuildEntry => ({ path, directory: true })),
    { path: "/tmp", directory: true, mode: 0o1777 },
    ...["bin", "lib", "sbin", ...(architecture === "amd64" ? ["lib64"] : [])].map(
      (name): BuildEntry => ({ path: `/${name}`, link: `usr/${name}` }),
    ),
    ...["bin", "sbin"].map((name): BuildEntry => ({ path: `/usr/${name}`, directory: true })),
    text("/etc/passwd", "root:x:0:0:root:/:/sbin/nologin", `xfn:x:${USER}:${USER}:xfn:/tmp:/sbin/nologin`),
    text("/etc/group", "root:x:0:", `xfn:x:${USER}:`),
    // Without this file glibc asks DNS before /etc/hosts.
    text("/etc/nsswitch.conf", "passwd: files", "group: files", "hosts: files dns"),
    text("/etc/os-release", 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"', "ID=debian", 'VERSION_ID="13"'),
    { path: "/usr/local/bin/node", source: join(node, "bin/node"), mode: 0o755 },
    { path: "/usr/local/share/doc/node/LICENSE", source: join(node, "LICENSE") },
    ...debianEntries(architecture, "node"),
  ];
}

/** koffi's native code. */
function nativeEntries(cpu: string): BuildEntry[] {
  const name = `@koromix/koffi-linux-${cpu}`;
  const folder = npmPackage(new URL("../../package-lock.json", import.meta.url), name);
  return ["package.json", "index.js", `linux_${cpu}/koffi.node`].map((file) => ({
    path: `/xfn/node_modules/${name}/${file}`,
    source: join(folder, file),
  }));
}
