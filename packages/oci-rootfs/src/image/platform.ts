/** The platform of an image, with the names of the OCI image specification (Go's GOOS and GOARCH). */
export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

const ARCHITECTURES: Readonly<Record<string, Omit<Platform, "os">>> = {
  x64: { architecture: "amd64" },
  arm64: { architecture: "arm64" },
  arm: { architecture: "arm", variant: "v7" },
  ia32: { architecture: "386" },
  loong64: { architecture: "loong64" },
  ppc64: { architecture: "ppc64le" },
  riscv64: { architecture: "riscv64" },
  s390x: { architecture: "s390x" },
};

/** Linux on this machine's processor, because images run in Linux containers. */
export function hostPlatform(): Platform {
  return { os: "linux", ...(ARCHITECTURES[process.arch] ?? { architecture: process.arch }) };
}

/** Parses `linux/amd64` or `linux/arm/v7`. */
export function parsePlatform(text: string): Platform {
  const [os = "", architecture = "", variant] = text.split("/");
  return { os, architecture, ...(variant !== undefined && { variant }) };
}

export function printPlatform(platform: Platform): string {
  const { os, architecture, variant } = platform;
  return `${os}/${architecture}${variant === undefined ? "" : `/${variant}`}`;
}

/** Whether images of a platform run on every machine: WebAssembly modules for WASI preview 1. */
export function isPortable({ os, architecture }: Platform): boolean {
  return architecture === "wasm" && (os === "wasip1" || os === "wasi");
}

/** Whether an image for `offered` runs on `wanted`. A variant that either side omits does not matter. */
export function satisfies(offered: Platform, wanted: Platform): boolean {
  if (offered.os !== wanted.os || offered.architecture !== wanted.architecture) return false;
  if (offered.variant === wanted.variant || offered.variant === undefined || wanted.variant === undefined) return true;
  // Code for a lower version of arm runs on a higher one.
  if (wanted.architecture === "arm") return Number(offered.variant.slice(1)) <= Number(wanted.variant.slice(1));
  return false;
}
