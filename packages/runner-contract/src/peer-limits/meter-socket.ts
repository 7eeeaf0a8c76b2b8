import type { Socket } from "node:net";
import type { PeerBudget } from "./peer-budget.ts";
import { PeerLimitError } from "./peer-limit-error.ts";

/**
 * Ends a connection to a server of HTTP/1 once it exceeds the budget. All bytes are charged as they are read: blank
 * lines, headers, chunk extensions and trailers too. The client of the connection refunds the content.
 *
 * @param event the event at which the HTTP client reads. Another one would change how the socket flows.
 * @returns charges what has arrived since. A client that also reads without the event calls it first: the refund of
 *   content that is not charged yet would be lost.
 */
export function meterSocket(socket: Socket, budget: PeerBudget, event: "data" | "readable"): () => void {
  let counted = socket.bytesRead;
  const charge = (): void => {
    const bytes = socket.bytesRead - counted;
    counted += bytes;
    if (bytes > 0 && !budget.spendRead(bytes, bytes)) socket.destroy(new PeerLimitError());
  };
  socket.on(event, charge);
  return charge;
}
