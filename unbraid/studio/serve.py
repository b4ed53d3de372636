"""Start the server and open the page."""

import socket
import threading
import webbrowser
from collections.abc import Callable

from unbraid.studio.guard import Access, new_access
from unbraid.studio.workspace import Workspace

FIRST_PORT, PORTS = 8420, 40
WARM_UP = 5.0  # seconds after which uploads are prepared for: the page comes first


def listen(host: str, port: int) -> tuple[socket.socket, Access]:
    """Return a socket that listens on the port asked for, or on the first that is free.

    Raises:
        ValueError: no port is free, or the host is not this machine.
    """
    reason = ""
    for number in [port] if port else range(FIRST_PORT, FIRST_PORT + PORTS):
        opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((host, number))
            opened.listen(128)
        except (OSError, OverflowError) as error:
            opened.close()
            reason = str(getattr(error, "strerror", "") or error)
            continue
        return opened, new_access(host, number)
    place = f"port {port}" if port else f"any port from {FIRST_PORT} on"
    raise ValueError(f"the studio cannot listen on {host}, {place}: {reason}.")


def serve(
    workspace: Workspace, host: str, port: int, *, browser: bool, say: Callable[[str], None]
) -> None:
    """Serve until the user stops it.

    Args:
        workspace: runs, data and folders.
        host: address to listen on.
        port: of that address; 0: the first that is free.
        browser: open the page.
        say: called with the address.
    """
    try:
        import uvicorn

        from unbraid.studio.app import make_app
    except ImportError:
        raise ImportError('the studio needs FastAPI: pip install "unbraid[studio]".') from None
    from unbraid.studio.uploads import warm_up

    opened, access = listen(host, port)
    config = uvicorn.Config(
        make_app(workspace, access),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    say(f"unbraid studio: {access.address}  (Ctrl-C ends it; trainings go on)")
    if access.is_open:
        say("Other machines can reach it: keep the address, with its token, to yourself.")
    if browser:
        threading.Thread(target=webbrowser.open, args=(access.address,), daemon=True).start()
    later = threading.Timer(WARM_UP, warm_up)
    later.daemon = True
    later.start()
    uvicorn.Server(config).run(sockets=[opened])
