import { open } from "node:fs/promises";
import { type Expected, verifiedBytes } from "../image/verified-bytes.ts";

/** Writes verified content to a new file. After a failure, the caller removes it. */
export async function writeVerified(
  path: string,
  content: AsyncIterable<Uint8Array>,
  expected: Expected,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    let bytes = 0;
    for await (const chunk of verifiedBytes(content, expected)) {
      signal.throwIfAborted();
      await file.writeFile(chunk);
      bytes += chunk.length;
      onBytes(bytes);
    }
  } finally {
    await file.close();
  }
}
