import { type Platform, parsePlatform } from "@xfn/oci-rootfs";
import { usageError } from "../errors.ts";

// As images name them: Go's GOOS, GOARCH and, for arm, its version.
const PLATFORM = /^[a-z0-9]+\/[a-z0-9]+(?:\/[a-z0-9.]+)?$/;

/**
 * The platforms of `--platform`, which may be given several times or hold commas.
 *
 * @throws CliError `Usage` for what is none, and for one that is named twice
 */
export function platformList(values: readonly string[] | undefined): readonly Platform[] {
  const texts = (values ?? []).flatMap((value) => value.split(",")).map((text) => text.trim());
  for (const [at, text] of texts.entries()) {
    if (!PLATFORM.test(text))
      throw usageError(`--platform takes OS/ARCHITECTURE such as linux/arm64, not ${JSON.stringify(text)}`);
    if (texts.indexOf(text) !== at) throw usageError(`--platform names ${text} twice`);
  }
  return texts.map(parsePlatform);
}

/**
 * `KEY=VALUE` of an option that may be given several times. The last one of a key counts.
 *
 * @throws CliError `Usage` for what is no such pair
 */
export function keyValues(option: string, values: readonly string[] | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (values ?? []).map((value) => {
      const at = value.indexOf("=");
      if (at <= 0) throw usageError(`${option} takes KEY=VALUE, not ${JSON.stringify(value)}`);
      return [value.slice(0, at), value.slice(at + 1)];
    }),
  );
}
