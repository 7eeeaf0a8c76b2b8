import { readFileSync } from "node:fs";

// The kubelet replaces a token that has a fifth of its life (an hour, most often) left; client-go reads once a minute too.
const READ_AGAIN_MS = 60_000;

/** A bearer token in a file that somebody replaces in time. */
export function tokenFile(
  path: string,
  now: () => number = () => performance.now(),
): {
  headers(): Readonly<Record<string, string>>;
  refresh(): Promise<boolean>;
} {
  let header: Readonly<Record<string, string>> | undefined;
  let at = Number.NEGATIVE_INFINITY;
  const read = (): void => {
    try {
      const token = readFileSync(path, "utf8").trim();
      header = { authorization: `Bearer ${token}` };
    } catch (error) {
      // It is being replaced: the one before is good for some time yet.
      if (header === undefined) throw error;
    }
    at = now();
  };
  return {
    headers() {
      if (header === undefined || now() - at > READ_AGAIN_MS) read();
      return header ?? {};
    },
    async refresh() {
      const before = header?.["authorization"];
      read();
      return header?.["authorization"] !== before;
    },
  };
}
