import type { Host } from "./host.ts";

// os-release's ID and ID_LIKE -> the command that installs a package. First match wins.
const INSTALLERS: readonly (readonly [RegExp, string])[] = [
  [/debian|ubuntu/, "apt-get install -y"],
  [/fedora|rhel|centos/, "dnf install -y"],
  [/alpine/, "apk add"],
  [/arch/, "pacman -S --noconfirm"],
  [/suse/, "zypper install -y"],
];

/** The command that installs packages on this host's distribution. */
export async function installCommand(host: Host, packages: string): Promise<string> {
  const release = (await host.read("/etc/os-release")) ?? "";
  const ids = [...release.matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].map((match) => match[1]).join(" ");
  const installer = INSTALLERS.find(([pattern]) => pattern.test(ids))?.[1];
  const asRoot = host.uid === 0 ? "" : "sudo ";
  return installer === undefined
    ? `install ${packages} with this system's package manager`
    : `${asRoot}${installer} ${packages}`;
}
