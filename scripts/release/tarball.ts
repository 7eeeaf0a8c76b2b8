import { run } from "../image/downloads.ts";

/** Packs a folder. Names, times and owners do not depend on the machine. */
export function tarball(from: string, name: string, to: string): void {
  const fixed = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"];
  run("tar", [...fixed, "--use-compress-program=gzip -n", "-cf", to, name], from);
}
