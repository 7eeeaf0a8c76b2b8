import { extract, type Header as TarHeader } from "tar-stream";
import { ImageError } from "./errors.ts";
import { type BytePath, fromBytePath, toBytePath, unsafe } from "./layer-path.ts";

/** One entry of a layer, read but not yet trusted: paths are as the archive has them. */
export type LayerEntry = { readonly path: BytePath; readonly mode: number /** Seconds. */; readonly mtime: number } & (
  | { readonly kind: "file"; readonly size: number }
  | { readonly kind: "directory" | "fifo" }
  | { readonly kind: "symlink" | "link"; readonly target: BytePath }
);

/** What is done with the entries; all of it synchronously. */
export interface EntrySink {
  add(entry: LayerEntry): void;
  /** Content of the file added last. */
  write(chunk: Uint8Array): void;
  closeFile(): void;
}

/** readlink(2) gives no more, and no file system holds more. */
const MAX_LINK_TARGET = 4095;

/** A tar archive going into a sink, chunk by chunk. */
export interface TarReader {
  /** Takes the next bytes; resolves when there is room for more. @throws ImageError UnsafeLayer, or what the sink threw */
  write(chunk: Uint8Array): Promise<void>;
  /** Says that the archive ends here. */
  end(): Promise<void>;
  /** Gives up. */
  destroy(): void;
}

// tar-stream's types promise fields that a hostile header need not have.
type Header = Partial<Omit<TarHeader, "name" | "pax" | "type">> & {
  readonly name: string;
  readonly type?: TarHeader["type"] | null;
  readonly pax?: Readonly<Record<string, string>> | null;
};

export function readTar(sink: EntrySink): TarReader {
  // Names are bytes: see layer-path.ts. PAX records come as text whatever is asked for.
  const options: object = { filenameEncoding: "latin1", allowUnknownFormat: true };
  const parser = extract(options);
  let failure: unknown;
  let wake: (() => void) | undefined;
  const settle = (): void => {
    wake?.();
    wake = undefined;
  };
  const fail = (error: unknown): void => {
    failure ??= error;
    parser.destroy();
    settle();
  };
  let ended = false;

  parser.on("entry", (header, body, next) => {
    let path: BytePath = "";
    try {
      path = pathOf(header as Header);
      sink.add(toEntry(header as Header, path));
    } catch (error) {
      fail(place(error, path));
      return;
    }
    // A directory's size counts for nothing, and tar-stream would never end the body of one that has a size.
    if (header.type === "directory" || (header.size ?? 0) === 0) {
      queueMicrotask(next);
      return;
    }
    // A body that is given up reports it; without a listener that would end the process.
    body.on("error", () => {});
    body.on("data", (chunk) => {
      if (failure !== undefined) return;
      try {
        sink.write(chunk as Uint8Array);
      } catch (error) {
        fail(place(error, path));
      }
    });
    body.on("end", () => {
      try {
        sink.closeFile();
      } catch (error) {
        fail(place(error, path));
        return;
      }
      next();
    });
  });
  parser.on("error", (error: Error) => fail(unsafe(`cannot read the archive: ${error.message}`, error)));
  parser.on("drain", settle);
  parser.on("finish", () => {
    ended = true;
    settle();
  });
  parser.on("close", settle);

  const check = (): void => {
    if (failure !== undefined) throw failure;
  };
  return {
    async write(chunk) {
      check();
      if (!parser.write(chunk)) await new Promise<void>((resolve) => (wake = resolve));
      check();
    },
    async end() {
      check();
      const finished = new Promise<void>((resolve) => (wake = resolve));
      parser.end(null);
      await finished;
      check();
      if (!ended) throw unsafe("the archive is cut off");
    },
    destroy: () => {
      parser.destroy();
    },
  };
}

function place(error: unknown, path: BytePath): unknown {
  return ImageError.from(error, { entry: fromBytePath(path) });
}

function pathOf(header: Header): BytePath {
  const { name, pax } = header;
  return pax?.["path"] === name ? toBytePath(name) : name;
}

function toEntry(header: Header, path: BytePath): LayerEntry {
  const { pax, type } = header;
  const size = header.size ?? 0;
  const mode = header.mode ?? 0;
  if (!Number.isSafeInteger(mode) || mode < 0) throw unsafe("unreadable mode");
  const mtime = timeOf(header);
  // Sparse files expand beyond what the archive's size says, and tools disagree on how to read them.
  if (pax && Object.keys(pax).some((key) => key.startsWith("GNU.sparse."))) throw unsafe("sparse file");
  // tar-stream reads -1 as -0.
  if (!Number.isSafeInteger(size) || size < 0 || Object.is(size, -0)) throw unsafe(`impossible size ${size}`);
  switch (type) {
    case "file":
    case "contiguous-file":
      // Archives from before POSIX mark directories by a slash only.
      return path.endsWith("/") && size === 0
        ? { kind: "directory", path, mode, mtime }
        : { kind: "file", path, mode, mtime, size };
    case "directory":
      return { kind: "directory", path, mode, mtime };
    case "fifo":
      return { kind: "fifo", path, mode, mtime };
    case "symlink":
    case "link":
      return { kind: type, path, mode, mtime, target: targetOf(header) };
    case "character-device":
    case "block-device":
      throw unsafe("device file");
    default:
      throw unsafe("entry of an unknown type (sparse, or a vendor's own)");
  }
}

function targetOf(header: Header): BytePath {
  const { linkname, pax } = header;
  const target = linkname ?? "";
  if (target === "" || target.includes("\0")) throw unsafe("link to nothing");
  const bytes = pax?.["linkpath"] === target ? toBytePath(target) : target;
  if (bytes.length > MAX_LINK_TARGET)
    throw unsafe(`link target of ${bytes.length} bytes, more than ${MAX_LINK_TARGET}`);
  return bytes;
}

function timeOf(header: Header): number {
  const precise = header.pax?.["mtime"];
  if (precise !== undefined) return Number.parseFloat(precise);
  return (header.mtime?.getTime() ?? 0) / 1000;
}
