import { run } from "../image/downloads.ts";

/** Packs a folder. Names, times and owners do not depend on the machine. @param to is compressed unless it is a .tar */
export function tarball(from: string, name: string, to: string): void {
  const fixed = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"];
  const compressed = to.endsWith(".tar") ? [] : ["--use-compress-program=gzip -n"];
  run("tar", [...fixed, ...compressed, "-cf", to, name], from);
}
