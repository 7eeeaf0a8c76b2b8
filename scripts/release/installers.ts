// Installers of the archives of a release: a shell script, a Homebrew formula and a manifest of Krew.
// All contain the checksums of the archives.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ArchivePlatform, archiveName, PLATFORMS } from "./program-archives.ts";
import type { ReleaseSettings } from "./settings.ts";

interface Archive extends ArchivePlatform {
  readonly file: string;
  readonly url: string;
  readonly sha256: string;
}

const DESCRIPTION = "Composition functions for Kubernetes";
const OTHER_SYSTEMS = "Functions in containers need Linux. Templates, validate, types and trace work on this system.";
const TEMPLATE = readFileSync(new URL("install.sh", import.meta.url), "utf8");

/** Writes the installers beside the archives. */
export function writeInstallers(settings: Pick<ReleaseSettings, "version" | "repository" | "output">): void {
  const { version, repository, output } = settings;
  const release = `${repository}/releases/download/v${version}`;
  const archives = PLATFORMS.map((platform): Archive => {
    const file = `${archiveName(version, platform)}.tar.gz`;
    const sha256 = createHash("sha256")
      .update(readFileSync(join(output, file)))
      .digest("hex");
    return { ...platform, file, url: `${release}/${file}`, sha256 };
  });
  const checksums = archives.map(({ file, sha256 }) => `${sha256}  ${file}`).join("\n");
  const script = TEMPLATE.replaceAll("@VERSION@", version)
    .replaceAll("@RELEASE@", release)
    .replace("@CHECKSUMS@", checksums)
    .replace("@OTHER_SYSTEMS@", OTHER_SYSTEMS);
  writeFileSync(join(output, "install.sh"), script, { mode: 0o755 });
  writeFileSync(join(output, "xfn.rb"), formula(version, repository, archives));
  // YAML contains JSON.
  writeFileSync(join(output, "xfn.yaml"), `${JSON.stringify(krewManifest(version, repository, archives), null, 2)}\n`);
}

function formula(version: string, repository: string, archives: readonly Archive[]): string {
  const blocks = archives.map(
    ({ os, architecture, url, sha256 }) => `  on_${os === "darwin" ? "macos" : os} do
    on_${architecture === "amd64" ? "intel" : "arm"} do
      url "${url}"
      sha256 "${sha256}"
    end
  end
`,
  );
  return `class Xfn < Formula
  desc "${DESCRIPTION}"
  homepage "${repository}"
  version "${version}"
  license "Apache-2.0"

${blocks.join("\n")}
  on_macos do
    depends_on "node"
  end

  def install
    libexec.install Dir["*"]
    bin.install_symlink libexec/"bin/xfn", libexec/"bin/kubectl-xfn"
    generate_completions_from_executable(bin/"xfn", "completion")
  end

  def caveats
    on_macos do
      "${OTHER_SYSTEMS}"
    end
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/xfn --version")
  end
end
`;
}

/** https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ */
function krewManifest(version: string, repository: string, archives: readonly Archive[]): object {
  return {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "xfn" },
    spec: {
      version: `v${version}`,
      homepage: repository,
      shortDescription: DESCRIPTION,
      description: "Renders, traces, validates and rolls out Compositions, and builds their functions in TypeScript.\n",
      caveats: `On macOS, it needs Node 24 or newer on the PATH. ${OTHER_SYSTEMS.replace("this system", "macOS")}\n`,
      platforms: archives.map(({ os, architecture, file, url, sha256 }) => ({
        selector: { matchLabels: { os, arch: architecture } },
        uri: url,
        sha256,
        files: [{ from: `${file.replace(/\.tar\.gz$/, "")}/*`, to: "." }],
        bin: "bin/kubectl-xfn",
      })),
    },
  };
}
