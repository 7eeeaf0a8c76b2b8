// Code of two functions, for {@link buildCodeFunction}: one passes its stdout to the other through an abstract socket
// (unix(7)), which functions with the runner's network share.

/** Receives a descriptor, confirms it, and keeps it for longer than any call of a test. */
export function keepsDescriptor(socket: string): string {
  return `
import socket, time
server = socket.socket(socket.AF_UNIX)
server.bind("\\0${socket}")
server.listen()
connection, _ = server.accept()
received = socket.recv_fds(connection, 1, 1)
connection.send(b"x")
time.sleep(600)
`;
}

/** Passes its stdout on, answers and exits. */
export function passesStdout(socket: string): string {
  return `
import socket, time
client = socket.socket(socket.AF_UNIX)
while True:
    try:
        client.connect("\\0${socket}")
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
socket.send_fds(client, [b"x"], [1])
client.recv(1)
print("answer")
`;
}
