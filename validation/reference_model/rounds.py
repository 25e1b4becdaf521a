"""What schemes share: workers that send gradients to a server, answers of a server, and rounds that wait for members."""


def gradients_to_server(me, _chosen):
    """A worker that sends each gradient, and goes on with the weights that it is answered."""
    weights = me.first_weights
    while True:
        batch = me.draw()
        yield me.compute(batch)
        yield me.send("server", me.gradient(weights, batch))
        weights = (yield me.receive(sender="server")).content


def answer(me, chosen, to, content):
    """Answers the sender of a message: in turn, until it has left, or at once."""
    sending = me.send(to.sender, content, life=to.life)
    if chosen["answers"] == "in_turn":
        yield sending
    else:
        sending.begin()
